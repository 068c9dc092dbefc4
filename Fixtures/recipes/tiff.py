#!/usr/bin/env python3
"""Makes tiff/ and its entries in manifest.json, byte by byte, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/tiff.py

libtiff's tiffcp 4.5.0 compresses the files whose codes are not written here. The digests are those of the pixels that
went in.
"""

import hashlib
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.dont_write_bytecode = True

import ledger  # noqa: E402

WIDTH, HEIGHT = 13, 7
ORIGIN = {"generated": "recipes/tiff.py"}
FOLDER = ledger.ROOT / "tiff"
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 13: 4, 16: 8}
BYTE, ASCII, SHORT, LONG, RATIONAL, UNDEFINED, LONG8 = 1, 2, 3, 4, 5, 7, 16


def gray(x, y, top=255):
    return (x * 19 + y * 7) * top // 276


def color(x, y):
    return (x * 19, y * 36, (x * 7 + y * 29) % 256)


def replicate(value, bits, wanted):
    """The bits of a sample, repeated from the highest on."""
    text = f"{value:0{bits}b}" * wanted
    return int(text[:wanted], 2)


def packed(values, bits):
    """Samples of a row, high bits first."""
    text = "".join(f"{value:0{bits}b}" for value in values)
    return int(text + "0" * (-len(text) % 8), 2).to_bytes((len(text) + 7) // 8, "big")


def packbits(row):
    return bytes([len(row) - 1]) + row


def differences(row, step):
    return bytes((value - (row[at - step] if at >= step else 0)) % 256 for at, value in enumerate(row))


class File:
    """A TIFF under construction: a header, then blocks and directories in the order of the calls."""

    def __init__(self, big=False, order="<"):
        self.big, self.order = big, order
        mark = b"II" if order == "<" else b"MM"
        head = (43, 8, 0) if big else (42,)
        self.bytes = bytearray(mark + struct.pack(order + "H" * len(head), *head) + bytes(8 if big else 4))
        self.link = len(self.bytes) - (8 if big else 4)

    def append(self, data):
        if len(self.bytes) % 2:
            self.bytes += b"\0"
        self.bytes += data
        return len(self.bytes) - len(data)

    def number(self, value, kind):
        if kind == RATIONAL:
            return struct.pack(self.order + "II", *value)
        if kind in (BYTE, ASCII, UNDEFINED):
            return bytes(value) if isinstance(value, (bytes, bytearray)) else bytes([value])
        return struct.pack(self.order + {2: "H", 4: "I", 8: "Q"}[SIZES[kind]], value)

    def directory(self, fields, linked=True):
        """Appends a directory of {tag: (kind, values)}; it follows the previous one unless `linked` is false."""
        wide = 8 if self.big else 4
        entries = b""
        for tag, (kind, values) in sorted(fields.items()):
            values = values if isinstance(values, (list, bytes)) else [values]
            data = values if isinstance(values, bytes) else b"".join(self.number(value, kind) for value in values)
            count = len(data) // SIZES[kind]
            entries += struct.pack(self.order + "HH" + ("Q" if self.big else "I"), tag, kind, count)
            if len(data) > wide:
                data = struct.pack(self.order + ("Q" if self.big else "I"), self.append(data))
            entries += data + bytes(wide - len(data))
        count = struct.pack(self.order + ("Q" if self.big else "H"), len(fields))
        place = self.append(count + entries + bytes(wide))
        if linked:
            self.bytes[self.link:self.link + wide] = struct.pack(self.order + ("Q" if self.big else "I"), place)
            self.link = len(self.bytes) - wide
        return place

    def page(self, blocks, bits=8, samples=1, photometric=1, size=(WIDTH, HEIGHT), rows=None, linked=True, **more):
        """Appends strips and their directory; `more` has further fields as t274=(SHORT, 6)."""
        places = [self.append(block) for block in blocks]
        fields = {
            256: (SHORT, size[0]), 257: (SHORT, size[1]), 258: (SHORT, [bits] * samples), 259: (SHORT, 1),
            262: (SHORT, photometric), 273: (LONG, places), 277: (SHORT, samples), 278: (SHORT, rows or size[1]),
            279: (LONG, [len(block) for block in blocks])}
        fields.update({int(name[1:]): field for name, field in more.items()})
        if 322 in fields:
            fields[324], fields[325] = fields.pop(273), fields.pop(279)
            del fields[278]
        return self.directory(fields, linked)


def each(row, width=WIDTH, height=HEIGHT):
    return [row(y) for y in range(height)]


def joined(row):
    return b"".join(each(row))


def digest(pixel, width=WIDTH, height=HEIGHT):
    """The digest of RGBA for a function of x and y."""
    data = bytearray()
    for y in range(height):
        for x in range(width):
            value = pixel(x, y)
            value = value if isinstance(value, tuple) else (value, value, value)
            value = (*value, 255)[:4]
            data += bytes(value) if value[3] else bytes(4)
    return hashlib.sha256(bytes(data)).hexdigest()


ENTRIES = ledger.load()
for known in [path for path in ENTRIES if path.startswith("tiff/")]:
    del ENTRIES[known]


def keep(name, data, shows, pixel=None, size=(WIDTH, HEIGHT), error=None, **facts):
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(data.bytes) if isinstance(data, File) else data)
    entry = ledger.measure(f"tiff/{name}")
    entry.update(format="tiff", origin=ORIGIN, license="CC0-1.0", shows=shows)
    if error:
        entry["error"] = error[0] if len(error) == 1 else error
    else:
        entry["expect"] = {"width": size[0], "height": size[1], "frame_count": 1, **facts}
        if pixel:
            entry["expect"].update(pixel_sha256=digest(pixel, *size), digest_by="python")
    ENTRIES[f"tiff/{name}"] = entry


def copied(file, *options):
    """The same page as tiffcp compresses it."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "in.tif", Path(folder) / "out.tif"
        before.write_bytes(bytes(file.bytes))
        subprocess.run(["tiffcp", *options, str(before), str(after)], check=True)
        return after.read_bytes()


def one(blocks, big=False, order="<", **page):
    file = File(big, order)
    file.page(blocks, **page)
    return file


def rgb_row(y):
    return b"".join(bytes(color(x, y)) for x in range(WIDTH))


def gray_row(y):
    return bytes(gray(x, y) for x in range(WIDTH))


def depths():
    for bits in (1, 2, 4, 6):
        top = (1 << bits) - 1
        rows = joined(lambda y: packed([gray(x, y, top) for x in range(WIDTH)], bits))
        keep(f"gray-{bits}-bit.tif", one([rows], bits=bits), f"{bits} bits, 0 is black",
             lambda x, y: replicate(gray(x, y, top), bits, 8), bit_depth=bits)
    rows = joined(lambda y: packed([gray(x, y, 1) for x in range(WIDTH)], 1))
    keep("white-is-zero.tif", one([rows], bits=1, photometric=0), "1 bit, 0 is white",
         lambda x, y: 255 - 255 * gray(x, y, 1), bit_depth=1)
    rows = bytes(int(f"{byte:08b}"[::-1], 2) for byte in rows)
    keep("fill-order-2.tif", one([rows], bits=1, t266=(SHORT, 2)), "1 bit, the lowest bit is the first pixel",
         lambda x, y: 255 * gray(x, y, 1), bit_depth=1)
    rows = joined(lambda y: packed([gray(x, y, 4095) for x in range(WIDTH)], 12))
    keep("gray-12-bit.tif", one([rows], bits=12), "12 bits, two pixels in three bytes",
         lambda x, y: replicate(gray(x, y, 4095), 12, 16) >> 8, bit_depth=12)
    for order, name in (("<", "little"), (">", "big")):
        rows = joined(lambda y: b"".join(struct.pack(order + "H", gray(x, y, 65535)) for x in range(WIDTH)))
        keep(f"gray-16-bit-{name}-endian.tif", one([rows], bits=16, order=order), f"16 bits, {name} endian",
             lambda x, y: gray(x, y, 65535) >> 8, bit_depth=16)
    rows = joined(lambda y: bytes((gray(x, y) - 128) % 256 for x in range(WIDTH)))
    keep("signed-8-bit.tif", one([rows], t339=(SHORT, 2)), "signed samples", gray)


def colors():
    rows = joined(rgb_row)
    keep("rgb.tif", one([rows], samples=3, photometric=2), "RGB, one strip", color)
    keep("strips.tif", one([rgb_row(y) for y in range(HEIGHT)], samples=3, photometric=2, rows=1), "a strip for each row",
         color)
    planes = [joined(lambda y: bytes(color(x, y)[channel] for x in range(WIDTH))) for channel in range(3)]
    keep("planes.tif", one(planes, samples=3, photometric=2, t284=(SHORT, 2)), "red, green and blue in planes", color)
    rows = joined(lambda y: b"".join(bytes((*color(x, y), x * 21)) for x in range(WIDTH)))
    keep("straight-alpha.tif", one([rows], samples=4, photometric=2, t338=(SHORT, 2)), "straight alpha",
         lambda x, y: (*color(x, y), x * 21), has_alpha=True)
    keep("unknown-sample.tif", one([rows], samples=4, photometric=2, t338=(SHORT, 0)),
         "a fourth sample of unknown meaning, which is dropped", color)
    table = [(value * 17, 255 - value * 17, value * 37 % 256) for value in range(16)]
    rows = joined(lambda y: packed([(x + 3 * y) % 16 for x in range(WIDTH)], 4))
    for scale, name in ((257, "palette-4-bit"), (1, "palette-of-8-bit-numbers")):
        numbers = [value[channel] * scale for channel in range(3) for value in table]
        keep(f"{name}.tif", one([rows], bits=4, photometric=3, t320=(SHORT, numbers)),
             "a palette" if scale > 1 else "a palette with 8-bit numbers in 16-bit fields",
             lambda x, y: table[(x + 3 * y) % 16])
    rows = joined(lambda y: b"".join(bytes((x * 20, y * 36, 100, 7)) for x in range(WIDTH)))
    keep("cmyk.tif", one([rows], samples=4, photometric=5), "CMYK, 0 is no ink")


def codecs():
    file = one([b"".join(packbits(rgb_row(y)) for y in range(HEIGHT))], samples=3, photometric=2, t259=(SHORT, 32773))
    keep("packbits.tif", file, "PackBits", color)
    coded = zlib.compress(joined(lambda y: differences(rgb_row(y), 3)))
    keep("deflate-predictor.tif", one([coded], samples=3, photometric=2, t259=(SHORT, 8), t317=(SHORT, 2)),
         "Deflate of differences", color)
    plain = one([joined(rgb_row)], samples=3, photometric=2)
    keep("lzw.tif", copied(plain, "-c", "lzw"), "LZW", color)
    keep("zstd.tif", copied(plain, "-c", "zstd"), "Zstandard", color)
    keep("webp-lossless.tif", copied(plain, "-c", "webp:100"), "lossless WebP in a strip")
    keep("tiles.tif", copied(plain, "-t", "-w", "16", "-l", "16"), "one tile, larger than the image", color)
    bits = one([joined(lambda y: packed([gray(x, y, 1) for x in range(WIDTH)], 1))], bits=1, photometric=0)
    for name, options in (("group-3", ["g3:1d"]), ("group-3-2d", ["g3:2d"]), ("group-4", ["g4"])):
        keep(f"{name}.tif", copied(bits, "-c", *options), "codes of a fax machine",
             lambda x, y: 255 - 255 * gray(x, y, 1), bit_depth=1)


def large_color(x, y):
    return (x * 5 % 256, y * 5 % 256, (x + y) * 3 % 256)


def large(width, height, step=1):
    return b"".join(bytes(large_color(x * step, y * step)) for y in range(height) for x in range(width))


def layouts():
    keep("bigtiff.tif", one([joined(rgb_row)], big=True, samples=3, photometric=2), "64-bit positions", color)
    keep("bigtiff-big-endian.tif", one([joined(rgb_row)], big=True, order=">", samples=3, photometric=2),
         "64-bit positions, big endian", color)
    keep("orientation-6.tif", one([joined(rgb_row)], samples=3, photometric=2, t274=(SHORT, 6)), "turned clockwise",
         color, orientation=6)
    file = File()
    file.page([joined(gray_row)], t285=(ASCII, b"first\0"))
    file.page([large(20, 9)], samples=3, photometric=2, size=(20, 9), t285=(ASCII, b"second\0"))
    file.page([joined(lambda y: packed([gray(x, y, 1) for x in range(WIDTH)], 1))], bits=1, photometric=0)
    keep("three-pages.tif", file, "pages of different sizes and colors", gray)
    tiled = copied(one([large(100, 60)], samples=3, photometric=2, size=(100, 60)), "-t", "-w", "32", "-l", "16")
    keep("large-tiles.tif", tiled, "16 tiles, some beyond the edges", large_color, size=(100, 60))
    file = File()
    below = file.page([large(40, 24, 2)], samples=3, photometric=2, size=(40, 24), t254=(LONG, 1), linked=False)
    file.page([large(80, 48)], samples=3, photometric=2, size=(80, 48), t330=(LONG, below))
    keep("level-below.tif", file, "a level of half the size in a subordinate directory", large_color, size=(80, 48))
    file = File()
    file.page([large(80, 48)], samples=3, photometric=2, size=(80, 48))
    file.page([large(40, 24, 2)], samples=3, photometric=2, size=(40, 24), t254=(LONG, 1))
    file.page([large(20, 12, 4)], samples=3, photometric=2, size=(20, 12), t254=(LONG, 1))
    keep("levels.tif", file, "two levels in following directories", large_color, size=(80, 48))
    smooth = b"".join(bytes((x * 2, y * 3, 128)) for y in range(64) for x in range(96))
    keep("jpeg-tiles.tif", copied(one([smooth], samples=3, photometric=2, size=(96, 64)), "-c", "jpeg:r:95", "-t", "-w",
                                  "32", "-l", "32"), "JPEG in tiles with shared tables", size=(96, 64))


def metadata():
    file = File(order=">")
    gps = file.directory({0: (BYTE, [2, 3, 0, 0]), 1: (ASCII, b"N\0"),
                          2: (RATIONAL, [(48, 1), (12, 1), (30, 1)])}, linked=False)
    exif = file.directory({33434: (RATIONAL, [(1, 250)]), 36867: (ASCII, b"2026:11:26 12:00:00\0"),
                           37500: (UNDEFINED, b"maker note")}, linked=False)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"/>'
    iptc = bytes([0x1C, 2, 5, 0, 5]) + b"title" + bytes([0x1C, 2, 116, 0, 2]) + b"me"
    file.page([joined(rgb_row)], samples=3, photometric=2, t271=(ASCII, b"maker\0"), t282=(RATIONAL, [(300, 1)]),
              t283=(RATIONAL, [(300, 1)]), t296=(SHORT, 2), t305=(ASCII, b"a program\0"), t700=(BYTE, xmp),
              t33723=(UNDEFINED, iptc), t34665=(LONG, exif), t34853=(LONG, gps))
    keep("metadata.tif", file, "Exif, GPS, XMP and IPTC", color)


def damage():
    file = one([rgb_row(y) for y in range(HEIGHT)], samples=3, photometric=2, rows=1)
    # The directory first, the strips behind it: only the last ones are missing.
    whole = bytearray(file.bytes)
    keep("bad/no-directory.tif", bytes(whole[:8]), "nothing behind the header", error=["truncated"])
    file = File()
    place = file.page([], samples=3, photometric=2, t273=(LONG, 400), t279=(LONG, 273))
    keep("bad/strip-missing.tif", file, f"the strip is behind the end (directory at {place})", error=["truncated"])
    keep("bad/complex.tif", one([bytes(8 * WIDTH * HEIGHT)], bits=64, t339=(SHORT, 6)), "complex numbers",
         error=["unsupportedFeature"])
    keep("bad/no-width.tif", one([joined(gray_row)], size=(0, HEIGHT), rows=HEIGHT), "a width of 0", error=["corrupt"])
    keep("bad/camera-raw.tif", one([joined(gray_row)], photometric=32803), "a color filter array",
         error=["unrecognizedFormat"])
    keep("bad/huge-tile.tif", one([joined(gray_row)], t322=(LONG, 1 << 20), t323=(LONG, 1 << 20)),
         "a tile of a tebibyte", error=["limitExceeded", "corrupt"])
    broken = bytearray(zlib.compress(joined(rgb_row)))
    broken[2:8] = b"\xff" * 6
    keep("bad/deflate.tif", one([bytes(broken)], samples=3, photometric=2, t259=(SHORT, 8)),
         "damaged codes in the only strip", error=["corrupt"])
    file = File()
    file.page([joined(gray_row)])
    file.bytes[file.link:file.link + 4] = struct.pack("<I", 8 + len(joined(gray_row)) + 1)
    keep("chain-returns.tif", file, "the chain of directories returns to the first one", gray)


for make in (depths, colors, codecs, layouts, metadata, damage):
    make()
ledger.save(ENTRIES)
