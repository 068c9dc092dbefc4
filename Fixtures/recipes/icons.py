#!/usr/bin/env python3
"""Makes icons/ and its entries in manifest.json, byte by byte, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/icons.py

The digests are those of the pixels of the largest image.
"""

import hashlib
import struct
import sys
import zlib

sys.dont_write_bytecode = True

import containers  # noqa: E402
import ledger  # noqa: E402

ORIGIN = "recipes/icons.py"


def color(x, y):
    return (x * 13 % 256, y * 11 % 256, (x * 7 + y * 29) % 256)


def opacity(x, y):
    return (x * 17 + y * 5) % 256


def is_hidden(x, y):
    return (x + y) % 3 == 0


def mask(side, hidden):
    """One bit for a pixel, rows from the bottom, padded to four bytes."""
    out = b""
    for y in reversed(range(side)):
        bits = "".join("1" if hidden(x, y) else "0" for x in range(side))
        row = int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")
        out += row + bytes(-len(row) % 4)
    return out


def bitmap(side, depth, row, colors=b"", hidden=is_hidden, used=0):
    header = struct.pack("<IiiHHIIiiII", 40, side, 2 * side, 1, depth, 0, 0, 0, 0, used, 0)
    rows = b"".join((lambda data: data + bytes(-len(data) % 4))(row(y)) for y in reversed(range(side)))
    return header + colors + rows + mask(side, hidden)


def bitmap24(side):
    return bitmap(side, 24, lambda y: b"".join(bytes(color(x, y)[::-1]) for x in range(side)))


def bitmap32(side, alpha=opacity, hidden=is_hidden):
    return bitmap(side, 32, lambda y: b"".join(
        bytes((*color(x, y)[::-1], alpha(x, y))) for x in range(side)), hidden=hidden)


def palette_color(value, colors):
    return (value * 255 // (colors - 1), 255 - value * 255 // (colors - 1), value * 37 % 256)


def palette_bitmap(side, depth):
    colors = 1 << depth
    stored = b"".join(bytes((*palette_color(value, colors)[::-1], 0)) for value in range(colors))

    def row(y):
        bits = "".join(f"{(x + 3 * y) % colors:0{depth}b}" for x in range(side))
        return int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")
    return bitmap(side, depth, row, stored)


def png(side):
    plain = b"".join(b"\0" + b"".join(bytes((*color(x, y), opacity(x, y))) for x in range(side)) for y in range(side))
    return b"\x89PNG\r\n\x1a\n" + b"".join(containers.png_chunk(*chunk) for chunk in (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)), (b"IDAT", zlib.compress(plain, 9)), (b"IEND", b"")))


def icon(images, kind=1, hotspot=(0, 0)):
    """The images with their sides."""
    out = struct.pack("<HHH", 0, kind, len(images))
    place = 6 + 16 * len(images)
    for side, data in images:
        fields = hotspot if kind == 2 else (1, 32)
        out += struct.pack("<BBBBHHII", side % 256, side % 256, 0, 0, *fields, len(data), place)
        place += len(data)
    return out + b"".join(data for _, data in images)


def packed(samples):
    """Runs of equal bytes, and single bytes between them."""
    out, at = b"", 0
    while at < len(samples):
        run = 1
        while run < 130 and at + run < len(samples) and samples[at + run] == samples[at]:
            run += 1
        if run >= 3:
            out, at = out + bytes([run + 125, samples[at]]), at + run
        else:
            literal = samples[at:at + 2]
            out, at = out + bytes([len(literal) - 1]) + literal, at + len(literal)
    return out


def step_color(x, y):
    return (x // 4 * 60, y // 5 * 70, 90)


def channel(side, pixel, index):
    return bytes(pixel(x, y)[index] for y in range(side) for x in range(side))


def icns(elements):
    body = b"".join(kind + struct.pack(">I", 8 + len(data)) + data for kind, data in elements)
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def rgba(side, pixel):
    """The straight pixels for the digest; a transparent one counts as zeros."""
    return b"".join(bytes(values) if values[3] else bytes(4)
                    for values in ((*pixel(x, y), 255)[:4] for y in range(side) for x in range(side)))


def masked(pixel):
    return lambda x, y: (*pixel(x, y), 0 if is_hidden(x, y) else 255)


def entries():
    """Path, bytes, sentence, side of the largest image, its pixels."""
    yield "bits-24.ico", icon([(9, bitmap24(9))]), "24 bits and a mask", 9, masked(color)
    yield ("alpha.ico", icon([(20, bitmap32(20, hidden=lambda x, y: True))]),
           "32 bits: alpha counts, and the mask does not", 20, lambda x, y: (*color(x, y), opacity(x, y)))
    yield ("alpha-of-zeros.ico", icon([(12, bitmap32(12, alpha=lambda x, y: 0))]),
           "32 bits without alpha: the mask counts", 12, masked(color))
    for depth in (1, 4, 8):
        yield (f"palette-{depth}-bit.ico", icon([(17, palette_bitmap(17, depth))]), f"{depth} bit an index", 17, masked(
            (lambda depth: lambda x, y: palette_color((x + 3 * y) % (1 << depth), 1 << depth))(depth)))
    yield ("sizes.ico", icon([(16, bitmap24(16)), (64, png(64)), (32, bitmap32(32)), (16, bitmap32(16))]),
           "four images; the largest one is a PNG", 64, lambda x, y: (*color(x, y), opacity(x, y)))
    yield ("damaged-size.ico", icon([(16, bitmap24(16)), (64, png(64)[:20]), (8, bitmap24(8)[:60])]),
           "three images; the largest one is cut", 16, masked(color))
    yield "hotspot.cur", icon([(10, bitmap32(10))], 2, (3, 7)), "a cursor", 10, lambda x, y: (*color(x, y), opacity(x, y))
    yield ("packed.icns", icns([(b"TOC ", b""), (b"is32", b"".join(packed(channel(16, step_color, at)) for at in range(3))),
                                (b"s8mk", bytes(opacity(x, y) for y in range(16) for x in range(16)))]),
           "packed channels and a mask of 8 bits", 16, lambda x, y: (*step_color(x, y), opacity(x, y)))
    with_alpha = b"ARGB" + b"".join(packed(bytes(values)) for values in (
        [opacity(x // 3, y) for y in range(16) for x in range(16)], *(channel(16, step_color, at) for at in range(3))))
    yield ("argb.icns", icns([(b"ic04", with_alpha)]), "packed alpha and channels", 16,
           lambda x, y: (*step_color(x, y), opacity(x // 3, y)))
    bits = b"".join(int("".join("1" if (x * y) % 5 == part else "0" for x in range(32)), 2).to_bytes(4, "big")
                    for part in (1, 2) for y in range(32))
    yield ("bits.icns", icns([(b"ICN#", bits)]), "one bit for a pixel, one for the mask", 32,
           lambda x, y: (*((0,) * 3 if (x * y) % 5 == 1 else (255,) * 3), 255 if (x * y) % 5 == 2 else 0))
    yield ("png.icns", icns([(b"ics#", bytes(64)), (b"ic12", png(64)), (b"icp4", png(16))]),
           "PNG files of two sizes, and bits", 64, lambda x, y: (*color(x, y), opacity(x, y)))


def main():
    known = {path: entry for path, entry in ledger.load().items() if not path.startswith("icons/")}
    (ledger.ROOT / "icons" / "bad").mkdir(parents=True, exist_ok=True)

    def put(path, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": path.rsplit(".")[-1], "origin": {"generated": ORIGIN},
                       "license": "CC0-1.0", "shows": shows, **result}

    for name, data, shows, side, pixel in entries():
        put(f"icons/{name}", data, shows, expect={
            "width": side, "height": side, "frame_count": 1, "has_alpha": True, "bit_depth": 8,
            "pixel_sha256": hashlib.sha256(rgba(side, pixel)).hexdigest(), "digest_by": "python"})
    put("icons/bad/cut.ico", icon([(9, bitmap24(9))])[:80], "a bitmap without its last rows", error="truncated")
    put("icons/bad/behind-the-end.ico", icon([(9, bitmap24(9))])[:22], "a directory without images", error="truncated")
    put("icons/bad/wide.ico", icon([(9, struct.pack(
        "<IiiHHIIiiII", 40, 2**31 - 1, 2**30, 1, 32, 0, 0, 0, 0, 0, 0))]), "an exapixel in 62 bytes", error="limitExceeded")
    put("icons/bad/run-across-channels.icns", icns([(b"is32", bytes([255, 1] * 6))]), "a run longer than its channel",
        error="corrupt")
    put("icons/bad/jpeg-2000.icns", icns([(b"ic07", bytes([0, 0, 0, 12]) + b"jP  \r\n\x87\n")]), "JPEG 2000 in an icon",
        error="unsupportedFeature")
    ledger.save(known)


main()
