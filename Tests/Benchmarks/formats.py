"""Prints CPU time and peak memory of decoding the formats that came after the first nine, beside plain C programs over
the same libraries (Tests/Benchmarks/Plain) and the other tools that are installed.

The inputs are made from photo12.ppm by other programs, so a row exists where its program does. Each command takes its
own start-up; the ratio compares what is beyond it, measured with an image of 64x64 pixels. A coder that must run
in a worker is measured in both ways: the first number is in process (`--isolation off`), the other is as users run it.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

import timing

parser = argparse.ArgumentParser()
for name in ("--tool", "--inputs", "--scratch"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int)
parser.add_argument("--cpu", type=int)
parser.add_argument("--only", default="", help="rows whose file begins so")
given = parser.parse_args()

os.sched_setaffinity(0, {given.cpu})
photo = f"{given.inputs}/photo12.ppm"
folder = f"{given.scratch}/formats"
os.makedirs(folder, exist_ok=True)
plain = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Plain")
pillow = os.environ.get("PY", sys.executable)


class Account:
    """The processor time of this process and of all that it starts, also of workers that others wait for."""

    folder = "/sys/fs/cgroup/cpuacct/coderhost-benchmark"

    def __init__(self):
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(f"{self.folder}/tasks", "w") as tasks:
                tasks.write(str(os.getpid()))
            self.exists = True
        except OSError:
            self.exists = False

    def milliseconds(self):
        with open(f"{self.folder}/cpuacct.usage") as usage:
            return int(usage.read()) / 1e6

    def is_idle(self):
        with open(f"{self.folder}/tasks") as tasks:
            return len(tasks.read().split()) == len(os.listdir("/proc/self/task"))


account = Account()


def once(command):
    """CPU milliseconds of a command with its workers, and its own peak MiB; nothing if it fails."""
    before = account.milliseconds() if account.exists else 0
    child = os.posix_spawn(command[0], command, os.environ, file_actions=timing._null)
    _, status, usage = os.wait4(child, 0)
    spent = (usage.ru_utime + usage.ru_stime) * 1000
    if account.exists:
        while not account.is_idle():
            time.sleep(0.001)
        spent = account.milliseconds() - before
    return None if status else (spent, usage.ru_maxrss / 1024)


def medians(commands):
    """For each command its medians, or nothing if it fails."""
    works = [command and once(command) is not None for command in commands]
    measured = [[once(c) if ok else None for c, ok in zip(commands, works)] for _ in range(given.runs)]
    return [
        tuple(statistics.median(run[i][k] for run in measured) for k in (0, 1)) if ok else None
        for i, ok in enumerate(works)]


def built(name):
    """The plain program for a library, if the library is there."""
    target = f"{folder}/plain-{name}"
    packages = {"tiff": "libtiff-4", "jxl": "libjxl", "jp2": "libopenjp2", "exr": "OpenEXR"}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", packages[name]], capture_output=True, text=True)
    words = [word for word in flags.stdout.split() if name != "exr" or word.startswith("-I")]
    words += ["-lOpenEXRCore-3_1"] if name == "exr" else []
    made = subprocess.run(["cc", "-O2", f"{plain}/{name}.c", "-o", target, *words], capture_output=True)
    return [target] if made.returncode == 0 else None


def made(name, source, *recipes):
    """A file made from the source by the first program of the recipes that is installed."""
    target = f"{folder}/{name}"
    if os.path.exists(target) and os.path.getsize(target):
        return target
    for recipe in recipes:
        words = [{"IN": source, "OUT": target}.get(word, word) for word in recipe.split()]
        if (program := shutil.which(words[0])) and not subprocess.run(
                [program, *words[1:]], capture_output=True).returncode and os.path.exists(target):
            return target
    return None


TIFF = "vips tiffsave IN OUT --predictor horizontal --compression "
TILED = "vips tiffsave IN OUT --tile --tile-width 256 --tile-height 256 --compression "
ROWS = (
    ("strips.tif", "tiff", TIFF + "none"), ("lzw.tif", "tiff", TIFF + "lzw"), ("deflate.tif", "tiff", TIFF + "deflate"),
    ("jpeg-tiles.tif", "tiff", TILED + "jpeg --Q 90"), ("pyramid.tif", "tiff", TILED + "jpeg --Q 90 --pyramid"),
    ("lossy.jxl", "jxl", "cjxl IN OUT -d 1 -e 3"), ("lossless.jxl", "jxl", "cjxl IN OUT -d 0 -e 2"),
    ("lossy.jp2", "jp2", "opj_compress -i IN -o OUT -q 38 -I"), ("lossless.jp2", "jp2", "opj_compress -i IN -o OUT"),
    ("tiles.jp2", "jp2", "opj_compress -i IN -o OUT -q 38 -I -t 1024,1024"),
    ("half.exr", "exr", "convert IN -compress zip OUT"), ("piz.exr", "exr", "convert IN -compress piz OUT"),
    ("photo.psd", "", "convert IN OUT"), ("deep.psd", "", "convert IN -depth 16 OUT"), ("photo.bmp", "", "convert IN OUT"),
    ("photo.tga", "", "convert IN OUT"), ("photo.pcx", "", "convert IN OUT"), ("photo.sgi", "", "convert IN OUT"),
    ("photo.hdr", "", "convert IN OUT"), ("photo.dds", "", "convert IN OUT"),
)
LOAD = "import sys; from PIL import Image; Image.MAX_IMAGE_PIXELS = None; Image.open(sys.argv[1]).load()"


def cell(result):
    return "" if result is None else f"{result[0]:.0f}"


def main():
    small = f"{folder}/small.ppm"
    with open(small, "wb") as out:
        out.write(b"P6\n64 64\n255\n" + bytes(range(256)) * 48)
    programs = {name: built(name) for name in ("tiff", "jxl", "jp2", "exr")}
    vips, thumbnailer, magick = (shutil.which(name) for name in ("vips", "vipsthumbnail", "convert"))
    print(f"{timing.model()}, {given.runs} interleaved runs, medians; 12 megapixels, CPU ms, peak MiB\n")
    print("| file | whole | ratio | plain C | in a worker | vips | ImageMagick | Pillow | MiB "
          "| 256 px | vipsthumbnail | ratio |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name, library, *recipes in ROWS:
        if not name.startswith(given.only):
            continue
        file, tiny = made(name, photo, *recipes), made(f"small-{name}", small, *recipes)
        if not file or not tiny:
            continue
        convert = [given.tool, "convert", file, "-o", "/dev/null", "-f", "pam"]
        off = ["--isolation", "off"]
        program = programs.get(library)
        thumb = [given.tool, "thumbnail", file, "-s", "256", "-o", f"{folder}/out.jpg"]
        start = [given.tool, "convert", tiny, "-o", "/dev/null", "-f", "pam", *off]
        ours, begin, c, c_begin, worker, v, m, p, t, vt = medians([
            convert + off, start, program and [*program, file], program and [*program, tiny], convert,
            vips and [vips, "ppmsave", file, "/dev/null"], magick and [magick, file, "null:"],
            [pillow, "-c", LOAD, file], thumb,
            thumbnailer and [thumbnailer, file, "-s", "256", "-o", f"{folder}/vips.jpg"]])
        ratio = f"{(ours[0] - begin[0]) / (c[0] - c_begin[0]):.2f}" if ours and c else ""
        small_ratio = f"{t[0] / vt[0]:.2f}" if t and vt else ""
        print(f"| {name} | {cell(ours)} | {ratio} | {cell(c)} | {cell(worker)} | {cell(v)} | {cell(m)} | {cell(p)} "
              f"| {worker[1]:.0f} | {cell(t)} | {cell(vt)} | {small_ratio} |", flush=True)


main()
