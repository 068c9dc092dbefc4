#!/usr/bin/env python3
"""Makes exr/ and its entries in manifest.json, byte by byte, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/exr.py            needs "pip install OpenEXR" (3.5.3)

The C++ library of OpenEXR compresses the files with PIZ, PXR24, B44, B44A and DWAA; the samples of the lossy ones are
those that it reads back. All other digests are those of the light that went in: 16-bit samples with the curve of sRGB,
colors divided by alpha, nothing outside of 0 to 1, then >> 8.
"""

import hashlib
import math
import struct
import sys
import tempfile
import zlib
from pathlib import Path

sys.dont_write_bytecode = True

import numpy  # noqa: E402
import OpenEXR  # noqa: E402

import ledger  # noqa: E402

WIDTH, HEIGHT = 21, 19
ORIGIN = {"generated": "recipes/exr.py"}
FOLDER = ledger.ROOT / "exr"
UINT, HALF, FLOAT = 0, 1, 2
NONE, RLE, ZIPS, ZIP, DWAA = 0, 1, 2, 3, 8
ROWS = {NONE: 1, RLE: 1, ZIPS: 1, ZIP: 16}
CODES = {UINT: "I", HALF: "e", FLOAT: "f"}
ENTRIES = ledger.load()
for known in [path for path in ENTRIES if path.startswith("exr/")]:
    del ENTRIES[known]


def stored(value, kind):
    """The value that a sample of this kind holds."""
    return struct.unpack("<" + CODES[kind], struct.pack("<" + CODES[kind], value))[0]


def attribute(name, kind, data):
    return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(data)) + data


def text(value):
    return value.encode()


def box(x, y, width, height):
    return struct.pack("<4i", x, y, x + width - 1, y + height - 1)


def differences(data):
    """The bytes of even places, then those of odd ones, each as its difference from the one before."""
    parts = data[0::2] + data[1::2]
    return bytes([parts[0]] + [(parts[i] - parts[i - 1] + 128) % 256 for i in range(1, len(parts))])


def runs(data):
    """Run lengths: a count of 0 to 127 and a byte that repeats once more, or a negative count and bytes."""
    out, at = b"", 0
    while at < len(data):
        count = 1
        while at + count < len(data) and data[at + count] == data[at] and count < 128:
            count += 1
        if count >= 3:
            out += bytes([count - 1, data[at]])
        else:
            count = min(2, len(data) - at)
            out += struct.pack("b", -count) + data[at:at + count]
        at += count
    return out


def packed(data, compression):
    if compression == NONE:
        return data
    codes = runs(differences(data)) if compression == RLE else zlib.compress(differences(data))
    return codes if len(codes) < len(data) else data


class Part:
    """One part: channels by name, each (kind, function of x and y), in coordinates of the data window."""

    def __init__(self, channels, data=(0, 0, WIDTH, HEIGHT), display=None, compression=ZIP, tile=None, mips=False,
                 order=0, sampling=None, extra=(), kind=None):
        self.channels, self.data, self.display = dict(sorted(channels.items())), data, display or data
        self.compression, self.tile, self.mips, self.order = compression, tile, mips, order
        self.sampling, self.extra, self.kind = sampling or {}, list(extra), kind

    def levels(self):
        sizes = [(self.data[2], self.data[3])]
        while self.mips and sizes[-1] != (1, 1):
            sizes.append((max(1, sizes[-1][0] // 2), max(1, sizes[-1][1] // 2)))
        return sizes

    def chunks(self):
        """(number of the first row or of the tile, x, y, width, height, level)."""
        if not self.tile:
            rows = ROWS[self.compression]
            for y in range(0, self.data[3], rows):
                yield struct.pack("<i", self.data[1] + y), 0, y, self.data[2], min(rows, self.data[3] - y), 0
            return
        for level, (width, height) in enumerate(self.levels()):
            for row in range(-(-height // self.tile)):
                for column in range(-(-width // self.tile)):
                    x, y = column * self.tile, row * self.tile
                    size = min(self.tile, width - x), min(self.tile, height - y)
                    yield struct.pack("<4i", column, row, level, level), x, y, *size, level

    def header(self, is_one=True, count=0):
        channels = b"".join(
            name.encode() + b"\0" + struct.pack("<iB3xii", kind, 0, *self.sampling.get(name, (1, 1)))
            for name, (kind, _) in self.channels.items()) + b"\0"
        kind = self.kind or ("tiledimage" if self.tile else "scanlineimage")
        all = [
            ("channels", "chlist", channels), ("compression", "compression", bytes([self.compression])),
            ("dataWindow", "box2i", box(*self.data)), ("displayWindow", "box2i", box(*self.display)),
            ("lineOrder", "lineOrder", bytes([self.order])),
            ("pixelAspectRatio", "float", struct.pack("<f", 1)),
            ("screenWindowCenter", "v2f", struct.pack("<2f", 0, 0)),
            ("screenWindowWidth", "float", struct.pack("<f", 1)),
        ]
        if self.tile:
            all.append(("tiles", "tiledesc", struct.pack("<2IB", self.tile, self.tile, 1 if self.mips else 0)))
        if not is_one or self.kind:
            all += [("type", "string", text(kind)), ("chunkCount", "int", struct.pack("<i", count))]
        given = {name for name, _, _ in self.extra}
        return b"".join(attribute(*one) for one in [a for a in all if a[0] not in given] + self.extra) + b"\0"

    def samples(self, x, y, width, height, level):
        out = b""
        for row in range(y, y + height):
            for name, (kind, value) in self.channels.items():
                across, down = self.sampling.get(name, (1, 1))
                if row % down:
                    continue
                scale = 1 << level
                out += b"".join(
                    struct.pack("<" + CODES[kind], value(column * scale, row * scale))
                    for column in range(x, x + width) if column % across == 0)
        return out


def file(*parts):
    """The bytes of a file with these parts."""
    is_one = len(parts) == 1
    flags = 2 | (0x200 if is_one and parts[0].tile else 0) | (0 if is_one else 0x1000)
    chunks = [list(part.chunks()) for part in parts]
    head = struct.pack("<2I", 20000630, flags)
    head += b"".join(part.header(is_one, len(all)) for part, all in zip(parts, chunks)) + (b"" if is_one else b"\0")
    at = len(head) + 8 * sum(len(all) for all in chunks)
    table, body = b"", b""
    for number, (part, all) in enumerate(zip(parts, chunks)):
        places = {}
        # Rows from the bottom are stored from the bottom; the table has them from the top all the same.
        for index, one in sorted(enumerate(all), reverse=part.order == 1):
            data = packed(part.samples(*one[1:]), part.compression)
            leader = (b"" if is_one else struct.pack("<i", number)) + one[0] + struct.pack("<i", len(data))
            places[index] = at + len(body)
            body += leader + data
        table += b"".join(struct.pack("<Q", places[index]) for index in range(len(all)))
    return head + table + body


# MARK: Expected pixels

def sample(light):
    """16 bits with the curve of sRGB."""
    light = 0 if math.isnan(light) else min(max(light, 0), 1)
    value = 12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055
    return int(value * 65535 + 0.5)


def digest(pixel, width, height):
    """`pixel` returns premultiplied red, green, blue and alpha."""
    out = bytearray()
    for y in range(height):
        for x in range(width):
            *color, alpha = pixel(x, y)
            alpha = min(max(alpha, 0), 1)
            top = int(alpha * 65535 + 0.5) >> 8
            out += bytes([sample(c / alpha) >> 8 for c in color] + [top]) if top else bytes(4)
    return hashlib.sha256(out).hexdigest()


def shown(part, x, y):
    """The premultiplied light at a place of the canvas."""
    column, row = part.display[0] + x - part.data[0], part.display[1] + y - part.data[1]
    if not (0 <= column < part.data[2] and 0 <= row < part.data[3]):
        return 0, 0, 0, 0
    get = {name: stored(value(column, row), kind) for name, (kind, value) in part.channels.items()}
    color = [get.get(c, 0) for c in "RGB"] if set("RGB") & set(get) else [get["Y"]] * 3
    return *color, get.get("A", 1)


def keep(name, data, shows, part=None, pixel=None, error=None, digested=True, **facts):
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    entry = ledger.measure(f"exr/{name}")
    entry.update(format="exr", origin=ORIGIN, license="CC0-1.0", shows=shows)
    if error:
        entry["error"] = error[0] if len(error) == 1 else error
    else:
        width, height = part.display[2:] if part else (WIDTH, HEIGHT)
        pixel = pixel or (lambda x, y: shown(part, x, y))
        entry["expect"] = {"width": width, "height": height, "frame_count": 1, **facts}
        if digested:
            entry["expect"].update(pixel_sha256=digest(pixel, width, height), digest_by="python")
    ENTRIES[f"exr/{name}"] = entry


def one(name, shows, part, **facts):
    keep(name, file(part), shows, part, **facts)


def library(name, shows, kind, compression, channels):
    """A file of the C++ library, and the samples that it reads back."""
    types = {HALF: numpy.float16, FLOAT: numpy.float32, UINT: numpy.uint32}
    arrays = {
        c: numpy.array([[f(x, y) for x in range(WIDTH)] for y in range(HEIGHT)], types[kind])
        for c, f in channels.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "out.exr")
        OpenEXR.File({"compression": compression, "type": OpenEXR.scanlineimage}, arrays).write(path)
        read = OpenEXR.File(path, separate_channels=True).channels()
        pixels = {c: read[c].pixels for c in channels}
        data = Path(path).read_bytes()
    keep(name, data, shows, pixel=lambda x, y: (*[float(pixels[c][y][x]) for c in "RGB"], 1), has_alpha=False)


# MARK: Files

def red(x, y):
    return x / 21


def green(x, y):
    return y / 19


def blue(x, y):
    return (x * 7 + y * 5) % 32 / 31


RGB = {"R": red, "G": green, "B": blue}


def halves(**more):
    return {**{name: (HALF, value) for name, value in RGB.items()}, **more}


def floats():
    return {name: (FLOAT, value) for name, value in RGB.items()}


def cover(x, y):
    return x % 5 / 4


def premultiplied():
    light = {name: (HALF, lambda x, y, value=value: value(x, y) * cover(x, y)) for name, value in RGB.items()}
    return {**light, "A": (HALF, cover)}


one("half-zip.exr", "halves, ZIP", Part(halves()), has_alpha=False, bit_depth=16)
one("half-none.exr", "halves without compression", Part(halves(), compression=NONE))
one("half-runs.exr", "halves in runs", Part({"Y": (HALF, lambda x, y: x // 7 / 4)}, compression=RLE))
one("rows-from-the-bottom.exr", "rows stored from the bottom", Part(halves(), compression=ZIPS, order=1))
one("float-zips.exr", "floats, ZIPS", Part(floats(), compression=ZIPS), bit_depth=32)
one("integers.exr", "integers, which stand for themselves",
    Part({name: (UINT, lambda x, y, n=n: (x >> n) & 1) for n, name in enumerate("RGB")}, compression=NONE))
one("gray.exr", "luminance alone", Part({"Y": (HALF, blue)}))
one("light-above-1.exr", "light from -1 to 3", Part({"Y": (HALF, lambda x, y: x / 5 - 1)}))
one("alpha.exr", "colors multiplied by alpha", Part(premultiplied(), compression=ZIPS), has_alpha=True)
one("red-alone.exr", "a red channel alone", Part({"R": (HALF, red)}))
one("layers.exr", "depth and a layer beside the colors",
    Part(halves(Z=(FLOAT, lambda x, y: x), **{"diffuse.R": (HALF, green), "diffuse.G": (HALF, green)})))
one("data-window-inside.exr", "a data window inside the display window, whose origin is negative",
    Part(halves(), data=(-3, 2, WIDTH, HEIGHT), display=(-7, -4, 33, 29)), has_alpha=True)
one("data-window-around.exr", "a data window larger than the display window",
    Part(halves(), data=(-5, -6, WIDTH, HEIGHT), display=(-1, -2, 11, 9)), has_alpha=False)
one("data-window-across.exr", "a data window across a corner of the display window",
    Part(premultiplied(), data=(-5, -6, WIDTH, HEIGHT), display=(0, 0, 24, 20), compression=NONE), has_alpha=True)
one("tiles.exr", "tiles", Part(halves(), data=(2, 3, WIDTH, HEIGHT), tile=8))
one("levels.exr", "tiles of a pyramid; its levels are the picture at every second place",
    Part(halves(), data=(0, 0, 64, 48), tile=16, mips=True))
one("wide-colors.exr", "the primaries of BT.2020",
    Part(halves(), extra=[("chromaticities", "chromaticities",
                           struct.pack("<8f", 0.708, 0.292, 0.17, 0.797, 0.131, 0.046, 0.3127, 0.329))]))
one("texts.exr", "texts",
    Part(halves(), extra=[("comments", "string", text("a gradient")), ("owner", "string", text("nobody"))]))
PREVIEW = bytes(v for y in range(4) for x in range(5) for v in (x * 50, y * 60, 128, 255))
one("preview.exr", "a preview image",
    Part(halves(), extra=[("preview", "preview", struct.pack("<2I", 5, 4) + PREVIEW)]))

VIEWS = halves(**{f"right.{name}": (HALF, RGB["RGB"[2 - n]]) for n, name in enumerate("RGB")})
one("views.exr", "a left and a right view in one part",
    Part(VIEWS, extra=[("multiView", "stringvector", b"".join(struct.pack("<i", len(v)) + v for v in (b"left", b"right")))]))
left = Part(halves(), extra=[("name", "string", text("left")), ("view", "string", text("left"))])
right = Part({"Y": (FLOAT, red)}, data=(0, 0, 12, 9), display=left.data, compression=NONE,
             extra=[("name", "string", text("depth")), ("view", "string", text("right"))])
keep("parts.exr", file(left, right), "two parts with data windows of different sizes", left)

# Luminance, with differences for every second pixel of every second row. Without a digest: how the samples between are
# interpolated is not defined; the tests of the codec hold the colors against a tolerance.
part = Part({"Y": (HALF, blue), "RY": (HALF, lambda x, y: (x - y) / 64), "BY": (HALF, lambda x, y: (y - x) / 64)},
            data=(0, 0, 22, 20), sampling={"RY": (2, 2), "BY": (2, 2)})
one("luminance.exr", "luminance with fewer samples of color", part, digested=False)

library("half-piz.exr", "halves, PIZ", HALF, OpenEXR.PIZ_COMPRESSION, RGB)
library("float-piz.exr", "floats, PIZ", FLOAT, OpenEXR.PIZ_COMPRESSION, RGB)
library("float-pxr24.exr", "floats of 24 bits, PXR24", FLOAT, OpenEXR.PXR24_COMPRESSION, RGB)
library("half-b44.exr", "halves in blocks, B44", HALF, OpenEXR.B44_COMPRESSION, RGB)
library("half-b44a.exr", "halves in blocks, B44A", HALF, OpenEXR.B44A_COMPRESSION, RGB)

# MARK: Files that must fail

whole = file(Part(halves()))
keep("bad/dwaa.exr", file(Part(halves(), compression=NONE)).replace(
    attribute("compression", "compression", bytes([NONE])), attribute("compression", "compression", bytes([DWAA]))),
    "DWAA", error=["unsupportedFeature"])
deep = Part(halves(), compression=ZIPS, kind="deepscanline", extra=[
    ("version", "int", struct.pack("<i", 1)), ("maxSamplesPerPixel", "int", struct.pack("<i", 4))])
data = bytearray(file(deep))
data[5] |= 0x08
keep("bad/deep.exr", bytes(data), "deep data", error=["unsupportedFeature"])
keep("bad/cut.exr", whole[:-60], "the last rows are missing", error=["truncated"])
keep("bad/cut-header.exr", whole[:100], "the header ends too early", error=["truncated"])
keep("bad/no-rows.exr", whole[:whole.index(b"\0\0\0\0\0", 300)], "nothing behind the header",
     error=["truncated", "corrupt"])
keep("bad/wide.exr", file(Part({"Y": (HALF, blue)}, compression=NONE)).replace(
    attribute("displayWindow", "box2i", box(0, 0, WIDTH, HEIGHT)),
    attribute("displayWindow", "box2i", box(0, 0, 2_000_000, 3))), "a display window of 2,000,000 columns",
    error=["limitExceeded"])
keep("bad/no-window.exr", whole.replace(b"dataWindow\0", b"dataWindoe\0"), "no data window", error=["corrupt"])
keep("bad/no-color.exr", file(Part({"A": (HALF, red)})), "no channel but alpha", error=["unsupportedFeature"])
damaged = file(Part(floats(), data=(0, 0, WIDTH, 16)))
keep("bad/damaged.exr", damaged[:-40] + bytes(40), "damaged codes in the only chunk", error=["corrupt"])

ledger.save(ENTRIES)
