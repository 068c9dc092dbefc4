"""Reads and writes manifest.json: one line for each file, sorted by path, so that branches merge by line."""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "manifest.json"
ORDER = ["path", "sha256", "bytes", "format", "origin", "license", "shows", "expect", "error"]
# What stands in Fixtures/ and is no fixture.
TOOLS = {"README.md", "manifest.json", "add-entry"}
BY_EXTENSION = {
    "jpg": "jpeg", "jpeg": "jpeg", "png": "png", "apng": "apng", "gif": "gif", "webp": "webp", "heic": "heic",
    "heif": "heif", "avif": "avif", "ff": "farbfeld", "pam": "pam", "pbm": "pnm", "pgm": "pnm", "ppm": "pnm",
    "pnm": "pnm", "bmp": "bmp", "ico": "ico", "cur": "cur", "icns": "icns", "tif": "tiff", "qoi": "qoi", "tga": "tga", "pcx": "pcx", "dcx": "dcx", "sgi": "sgi", "ras": "ras", "xbm": "xbm", "xpm": "xpm", "dds": "dds", "jxl": "jxl", "psd": "psd", "psb": "psb", "exr": "exr", "jp2": "jp2", "j2k": "jp2", "j2c": "jp2",
}


def load():
    if not MANIFEST.exists():
        return {}
    return {entry["path"]: entry for entry in json.loads(MANIFEST.read_text())["fixtures"]}


def save(entries):
    lines = []
    for path in sorted(entries):
        entry = {key: entries[path][key] for key in ORDER if key in entries[path]}
        lines.append("    " + json.dumps(entry, ensure_ascii=False))
    MANIFEST.write_text('{\n  "schema": 1,\n  "fixtures": [\n' + ",\n".join(lines) + "\n  ]\n}\n")


def measure(path):
    """The three facts that are read from the file itself."""
    data = (ROOT / path).read_bytes()
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def is_fixture(path):
    """Whether a file below Fixtures/ needs an entry; recipes stand beside what they make."""
    name = path.rsplit("/", 1)[-1]
    return not (path in TOOLS or path.startswith("recipes/") or name == "recipes.txt" or name.endswith(".recipe.txt"))


def files():
    return sorted(
        path for path in (found.relative_to(ROOT).as_posix() for found in ROOT.rglob("*") if found.is_file())
        if is_fixture(path))
