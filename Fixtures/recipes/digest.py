"""The pixel digest of a file, as an independent decoder sees it.

SHA-256 of width · height · 4 bytes: RGBA, 8 bits, straight alpha, rows from the top, orientation not applied, no colour
management; samples of 16 bits by >> 8; colour 0 where alpha is 0.
Netpbm samples of a maxval other than 255 and 65535 are scaled to 255 (maxval below 256) or 65535 (above) before that,
rounded to the nearest.
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path


def run(*command, data=None):
    return subprocess.run([str(word) for word in command], input=data, check=True, capture_output=True).stdout


def read_netpbm(data):
    """(width, height, channels, maxval, samples) of any Netpbm picture; libnetpbm reads it."""
    head, body = run("pamtopam", data=data).split(b"ENDHDR\n", 1)
    fields = dict(line.split(b" ", 1) for line in head.split(b"\n")[1:] if b" " in line)
    width, height, channels, maxval = (int(fields[key]) for key in (b"WIDTH", b"HEIGHT", b"DEPTH", b"MAXVAL"))
    count = width * height * channels
    if maxval > 255:
        samples = [body[2 * i] << 8 | body[2 * i + 1] for i in range(count)]
    else:
        samples = list(body[:count])
    return width, height, channels, maxval, samples


def to_rgba8(channels, maxval, samples):
    top = 65535 if maxval > 255 else 255
    out = bytearray()
    for i in range(0, len(samples), channels):
        pixel = [(sample * top + maxval // 2) // maxval for sample in samples[i:i + channels]]
        if top == 65535:
            pixel = [sample >> 8 for sample in pixel]
        colour = pixel[:3] if channels >= 3 else pixel[:1] * 3
        alpha = pixel[-1] if channels in (2, 4) else 255
        out += bytes(colour + [alpha]) if alpha else bytes(4)
    return bytes(out)


def digest(channels, maxval, samples):
    return hashlib.sha256(to_rgba8(channels, maxval, samples)).hexdigest()


def tool_output(path, kind):
    """What the decoder of somebody else makes of a file, and its name."""
    if kind == "jpeg":
        return run("djpeg", "-pnm", path), "djpeg"
    if kind == "png":
        return run("pngtopam", "-alphapam", path), "pngtopam"
    if kind in ("webp",):
        if b"ANMF" in Path(path).read_bytes():
            with tempfile.TemporaryDirectory() as folder:
                first = Path(folder) / "first.webp"
                run("webpmux", "-get", "frame", "1", path, "-o", first)
                return tool_output(first, "webp")
        return run("dwebp", path, "-pam", "-o", "-"), "dwebp"
    if kind == "jxl":
        with tempfile.TemporaryDirectory() as folder:
            png = Path(folder) / "out.png"
            run("djxl", "--quiet", path, png)
            return run("pngtopam", "-alphapam", png), "djxl"
    if kind == "jp2":
        with tempfile.TemporaryDirectory() as folder:
            png = Path(folder) / "out.png"
            run("opj_decompress", "-quiet", "-i", path, "-o", png)
            return run("pngtopam", "-alphapam", png), "opj_decompress"
    if kind in ("heic", "avif"):
        with tempfile.TemporaryDirectory() as folder:
            png = Path(folder) / "out.png"
            # For AVIF the format's own library: the colours of heif-convert 1.15 are off by a step.
            tool = "avifdec" if kind == "avif" else "heif-convert"
            run(tool, path, png)
            return run("pngtopam", "-alphapam", png), tool
    if kind in ("pnm", "pam"):
        return Path(path).read_bytes(), "pamtopam"
    raise ValueError(kind)


def decode_gif(path):
    """The first frame of a GIF, which has to cover the canvas."""
    with tempfile.TemporaryDirectory() as folder:
        alpha = Path(folder) / "alpha.pgm"
        width, height, channels, maxval, samples = read_netpbm(run("giftopnm", f"-alphaout={alpha}", path))
        mask = read_netpbm(alpha.read_bytes())
    rgba = []
    for i in range(width * height):
        colour = samples[i * channels:(i + 1) * channels]
        if channels == 1:
            colour = [colour[0] * 255 // maxval] * 3
        rgba += colour + [mask[4][i] * 255 // mask[3]]
    return width, height, 4, 255, rgba


def decode_farbfeld(data):
    width, height = int.from_bytes(data[8:12], "big"), int.from_bytes(data[12:16], "big")
    return width, height, 4, 65535, [data[16 + 2 * i] << 8 | data[17 + 2 * i] for i in range(width * height * 4)]


def facts(path, kind):
    """(width, height, digest, who computed it)."""
    if kind == "farbfeld":
        decoded, by = decode_farbfeld(Path(path).read_bytes()), "python"
    elif kind == "gif":
        decoded, by = decode_gif(path), "giftopnm"
    else:
        output, by = tool_output(path, kind)
        decoded = read_netpbm(output)
    width, height = decoded[:2]
    return width, height, digest(*decoded[2:]), by
