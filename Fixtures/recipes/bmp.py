#!/usr/bin/env python3
"""Makes bmp/ and its entries in manifest.json, byte by byte, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/bmp.py

The digests are those of the pixels that went in.
"""

import hashlib
import struct
import sys
import zlib

sys.dont_write_bytecode = True

import containers  # noqa: E402
import ledger  # noqa: E402

WIDTH, HEIGHT = 13, 7
ORIGIN = "recipes/bmp.py"


def color(x, y):
    return (x * 19, y * 36, (x * 7 + y * 29) % 256)


def index(x, y, colors):
    return (x + 3 * y) % colors


def palette(colors):
    """Red, green and blue of each color; all differ."""
    return [(value * 255 // (colors - 1), 255 - value * 255 // (colors - 1), value * 37 % 256) for value in range(colors)]


def rgba(pixel):
    return b"".join(
        bytes(values) if values[3] else bytes(4)
        for values in ((*pixel(x, y), 255)[:4] for y in range(HEIGHT) for x in range(WIDTH)))


def rows(row, from_top=False, pad=4):
    """The stored rows, from the bottom, each padded to four bytes."""
    order = range(HEIGHT) if from_top else reversed(range(HEIGHT))
    stored = [row(y) for y in order]
    return b"".join(bytes_ + bytes(-len(bytes_) % pad) for bytes_ in stored)


def packed(depth, y):
    """Palette indices of a row, high bits first."""
    bits = "".join(f"{index(x, y, 1 << depth):0{depth}b}" for x in range(WIDTH))
    return int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")


def file(header, pixels, colors=b"", tail=b""):
    start = 14 + len(header) + len(colors)
    total = start + len(pixels) + len(tail)
    return b"BM" + struct.pack("<IHHI", total, 0, 0, start) + header + colors + pixels + tail


def core(depth):
    return struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, depth)


def info(depth, compression=0, size=40, height=HEIGHT, used=0, image=0, tail=b""):
    fields = struct.pack(
        "<IiiHHIIiiII", size, WIDTH, height, 1, depth, compression, image, 2835, 2835, used, 0)
    return (fields + tail).ljust(size, b"\0")


def quads(colors):
    return b"".join(bytes([blue, green, red, 0]) for red, green, blue in colors)


def triples(colors):
    return b"".join(bytes([blue, green, red]) for red, green, blue in colors)


def runs(y, wide):
    """One row as runs and stored values, indices 0 to 15."""
    out, x = b"", 0
    if y == 3:  # five columns without a value
        out, x = out + bytes([0, 2, 5, 0]), 5
    stored = [index(column, y, 16) for column in range(x, x + 3)]
    if wide:
        out += bytes([0, 3, *stored, 0])
    else:
        out += bytes([0, 3, stored[0] << 4 | stored[1], stored[2] << 4])
    x += 3
    while x < WIDTH:
        first = index(x, y, 16)
        if wide or x == WIDTH - 1:
            out, x = out + bytes([1, first if wide else first << 4]), x + 1
        else:
            out, x = out + bytes([2, first << 4 | index(x + 1, y, 16)]), x + 2
    return out + bytes([0, 0])


def five(value):
    return round(value * 31 / 255)


def back(value, bits, wide=255):
    return (value * 2 * wide + (1 << bits) - 1) // (2 * ((1 << bits) - 1))


def linear(x, y):
    return [component * 32 for component in color(x, y)]


def entries():
    """Name, bytes, sentence, pixel function, bits of a sample."""
    colors16, colors256 = palette(16), palette(256)
    by_index = {depth: (lambda depth: lambda x, y: palette(1 << depth)[index(x, y, 1 << depth)])(depth)
                for depth in (1, 2, 4, 8)}
    gray = [(value, value, value) for value in range(256)]
    yield ("core-24-bit", file(core(24), rows(lambda y: triples(color(x, y) for x in range(WIDTH)))),
           "the oldest header, blue first, from the bottom", color, 8)
    yield ("core-4-bit", file(core(4), rows(lambda y: packed(4, y)), triples(colors16)),
           "the oldest header, a palette of three bytes a color", by_index[4], 8)
    for depth in (1, 2, 8):
        yield (f"palette-{depth}-bit", file(info(depth), rows(lambda y: packed(depth, y)), quads(palette(1 << depth))),
               f"{depth} bit an index", by_index[depth], 8)
    yield ("gray-palette-from-the-top",
           file(info(8, height=-HEIGHT), rows(lambda y: packed(8, y), from_top=True), quads(gray)),
           "a palette of grays, the first row first", lambda x, y: gray[index(x, y, 256)], 8)
    yield ("short-palette", file(info(8, used=16), rows(lambda y: bytes(index(x, y, 16) for x in range(WIDTH))),
                                 quads(colors16)),
           "a palette of 16 colors for 8 bits", lambda x, y: colors16[index(x, y, 16)], 8)

    def holes(x, y):
        return (*colors16[index(x, y, 16)], 0 if y == 3 and x < 5 else 255)
    for wide, depth, compression in ((True, 8, 1), (False, 4, 2)):
        body = b"".join(runs(y, wide) for y in reversed(range(HEIGHT)))[:-2] + b"\0\1"
        yield (f"runs-{depth}-bit", file(info(depth, compression, used=16, image=len(body)), body, quads(colors16)),
               "runs, stored values and pixels without a value", holes, 8)
    sixteen = [[five(value) for value in color(x, y)] for y in range(HEIGHT) for x in range(WIDTH)]
    yield ("rgb-5-5-5", file(info(16), rows(lambda y: b"".join(
        struct.pack("<H", red << 10 | green << 5 | blue) for red, green, blue in sixteen[y * WIDTH:(y + 1) * WIDTH]))),
        "16 bits without masks", lambda x, y: tuple(back(value, 5) for value in sixteen[y * WIDTH + x]), 5)
    masks = struct.pack("<III", 0xF800, 0x07E0, 0x001F)
    yield ("rgb-5-6-5", file(info(16, 3), rows(lambda y: b"".join(
        struct.pack("<H", red << 11 | green << 6 | blue) for red, green, blue in sixteen[y * WIDTH:(y + 1) * WIDTH])),
        masks), "16 bits, masks after the header",
        lambda x, y: tuple(back(value * (2 if at == 1 else 1), 6 if at == 1 else 5)
                           for at, value in enumerate(sixteen[y * WIDTH + x])), 6)
    alpha = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000) + b"BGRs"

    def see_through(x, y):
        return (*color(x, y), x * 20)
    yield ("alpha-8-bit", file(info(32, 3, size=124, tail=alpha), rows(lambda y: b"".join(
        bytes([blue, green, red, opacity]) for red, green, blue, opacity in (see_through(x, y) for x in range(WIDTH))))),
        "32 bits with an alpha mask, header of 124 bytes", see_through, 8)
    ten = struct.pack("<IIII", 0x3FF << 20, 0x3FF << 10, 0x3FF, 3 << 30)

    def ten_bits(x, y):
        return [value * 4 for value in color(x, y)]
    yield ("rgba-10-10-10-2", file(info(32, 3, size=56, tail=ten), rows(lambda y: b"".join(
        struct.pack("<I", (x % 4) << 30 | red << 20 | green << 10 | blue)
        for x, (red, green, blue) in ((x, ten_bits(x, y)) for x in range(WIDTH))))),
        "ten bits for each color, two for alpha, header of 56 bytes",
        lambda x, y: (*(back(value, 10, 65535) >> 8 for value in ten_bits(x, y)), back(x % 4, 2, 65535) >> 8), 10)
    yield ("unused-byte", file(info(32), rows(lambda y: b"".join(
        bytes([blue, green, red, x]) for x, (red, green, blue) in ((x, color(x, y)) for x in range(WIDTH))))),
        "32 bits without masks: the fourth byte has no meaning", color, 8)
    yield ("fixed-point-64-bit", file(info(64), rows(lambda y: b"".join(
        struct.pack("<hhhh", blue, green, red, 8192) for red, green, blue in (linear(x, y) for x in range(WIDTH))))),
        "64 bits: linear light in fixed point", lambda x, y: tuple(
            (value * 2 * 65535 + 8192) // (2 * 8192) >> 8 for value in linear(x, y)), 16)
    os2 = struct.pack("<IIIHHIIIIII", 64, WIDTH, HEIGHT, 1, 24, 4, 0, 0, 0, 0, 0).ljust(64, b"\0")
    body = b"".join(b"".join(bytes([1, blue, green, red]) for red, green, blue in (color(x, y) for x in range(WIDTH)))
                    + b"\0\0" for y in reversed(range(HEIGHT)))[:-2] + b"\0\1"
    yield "os2-runs-24-bit", file(os2, body), "runs of whole colors, header of OS/2", color, 8
    # ITU-T T.4: white 4 is 1011, black 9 is 000100, the end of a line eleven zeros and a 1.
    bits = "".join("1011" + "000100" + "000000000001" for _ in range(HEIGHT))
    body = int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")
    os2 = struct.pack("<IIIHHIIIIII", 64, WIDTH, HEIGHT, 1, 1, 3, len(body), 0, 0, 2, 0).ljust(64, b"\0")
    two = [(10, 200, 30), (240, 20, 60)]
    yield ("os2-huffman", file(os2, body, quads(two)), "runs in Huffman codes, header of OS/2",
           lambda x, y: two[0] if x < 4 else two[1], 8)
    plain = b"".join(b"\0" + bytes(sum((color(x, y) for x in range(WIDTH)), ())) for y in range(HEIGHT))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(containers.png_chunk(*chunk) for chunk in (
        (b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(plain, 9)), (b"IEND", b"")))
    yield "embedded-png", file(info(0, 5, image=len(png)), png), "a PNG behind the headers", color, 8


def main():
    known = {path: entry for path, entry in ledger.load().items() if not path.startswith("bmp/")}
    (ledger.ROOT / "bmp" / "bad").mkdir(parents=True, exist_ok=True)

    def put(path, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": "bmp", "origin": {"generated": ORIGIN}, "license": "CC0-1.0",
                       "shows": shows, **result}

    for name, data, shows, pixel, bits in entries():
        sample = pixel(1, 1)
        put(f"bmp/{name}.bmp", data, shows, expect={
            "width": WIDTH, "height": HEIGHT, "frame_count": 1,
            "has_alpha": len(sample) == 4 or name.startswith("fixed"), "bit_depth": bits,
            "pixel_sha256": hashlib.sha256(rgba(pixel)).hexdigest(), "digest_by": "python"})
    whole = file(info(24), rows(lambda y: triples(color(x, y) for x in range(WIDTH))))
    put("bmp/bad/rows-missing.bmp", whole[:-100], "the top rows are missing", error="truncated")
    put("bmp/bad/mask-with-a-hole.bmp", file(info(16, 3), bytes(28 * HEIGHT), struct.pack("<III", 0xF800, 0x05E0, 0x1F)),
        "a mask of color bits that are not adjacent", error="corrupt")
    put("bmp/bad/runs-from-the-top.bmp", file(info(8, 1, height=-HEIGHT), bytes([1, 0, 0, 1]), quads(palette(256))),
        "runs that begin at the top", error="corrupt")
    put("bmp/bad/thirteen-bits.bmp", file(info(13), bytes(200)), "13 bits per pixel", error="corrupt")
    put("bmp/bad/wide.bmp", b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack(
        "<IiiHHIIiiII", 40, 2**31 - 1, 2**31 - 1, 1, 32, 0, 0, 0, 0, 0, 0), "four exapixels in 54 bytes", error="corrupt")
    ledger.save(known)


main()
