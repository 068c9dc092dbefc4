#!/usr/bin/env python3
"""Makes psd/ and its entries in manifest.json, byte by byte, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/psd.py

The digests are those of the pixels that went in. Source: Adobe Photoshop File Formats Specification.
"""

import hashlib
import math
import struct
import sys
import zlib

sys.dont_write_bytecode = True

import containers  # noqa: E402
import ledger  # noqa: E402

WIDTH, HEIGHT = 13, 7
ORIGIN = "recipes/psd.py"
BITMAP, GRAY, INDEXED, RGB, CMYK, MULTICHANNEL, DUOTONE, LAB = 0, 1, 2, 3, 4, 7, 8, 9
RAW, RUNS, ZIP, DIFFERENCES = 0, 1, 2, 3


def color(x, y):
    return (x * 19, y * 36, (x * 7 + y * 29) % 256)


def wide(x, y):
    return tuple(value * 257 + (x + y) for value in color(x, y)[:3]) if x + y else (0, 0, 0)


def opacity(x, y):
    """Transparent on the left, opaque on the right."""
    return min(255, x * 23)


def mixed(value, alpha, most):
    """A sample as Photoshop stores it: mixed with white."""
    return (value * alpha + most * (most - alpha) + most // 2) // most


def unmixed(stored, alpha, most):
    """The sample that a reader gets back, rounded to the nearest."""
    if alpha in (0, most):
        return stored
    return min(most, max(0, ((stored + alpha - most) * most * 2 + alpha) // (2 * alpha)))


def plane(sample, depth=8):
    """The rows of one channel."""
    def row(y):
        values = [sample(x, y) for x in range(WIDTH)]
        if depth == 1:
            bits = "".join(str(value) for value in values)
            return int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")
        return struct.pack(f">{WIDTH}{ {8: 'B', 16: 'H', 32: 'f'}[depth]}", *values)
    return [row(y) for y in range(HEIGHT)]


def runs(row):
    """PackBits: runs of three bytes and more, the rest as stored."""
    packed, place, held = b"", 0, b""

    def flush():
        nonlocal packed, held
        if held:
            packed += bytes([len(held) - 1]) + held
        held = b""
    while place < len(row):
        length = 1
        while place + length < len(row) and row[place + length] == row[place] and length < 128:
            length += 1
        if length > 2:
            flush()
            packed += bytes([257 - length, row[place]])
            place += length
        else:
            held += row[place:place + 1]
            place += 1
            if len(held) == 128:
                flush()
    flush()
    return packed


def differences(row, depth):
    if depth == 16:
        values = struct.unpack(f">{len(row) // 2}H", row)
        return struct.pack(f">{len(values)}H", *((b - a) & 0xFFFF for a, b in zip((0,) + values, values)))
    if depth == 32:
        row = b"".join(row[byte::4] for byte in range(4))
    return bytes((b - a) & 0xFF for a, b in zip(b"\0" + row, row))


def resource(number, data):
    return b"8BIM" + struct.pack(">HHI", number, 0, len(data)) + data + bytes(len(data) % 2)


def layer_info(number):
    """Layers of no pixels and no channels; a negative number marks transparency."""
    record = bytes(16) + b"\0\0" + b"8BIMnorm" + bytes([255, 0, 0, 0]) + struct.pack(">I", 12) + bytes(12)
    info = struct.pack(">h", number) + record * abs(number)
    return info + bytes(-len(info) % 4)


def version_info(has_composite):
    return b"\0\0\0\1" + bytes([has_composite]) + bytes(8) + b"\0\0\0\1"


def psd(mode, planes, depth=8, compression=RUNS, palette=b"", resources=b"", layers=None, block=None, large=False,
        size=(WIDTH, HEIGHT)):
    """A file; `layers` is the stored number of layers."""
    wide_ = "Q" if large else "I"
    rows = [row for rows in planes for row in rows]
    if compression == RUNS:
        packed = [runs(row) for row in rows]
        body = struct.pack(f">{len(packed)}{'I' if large else 'H'}", *map(len, packed)) + b"".join(packed)
    elif compression == ZIP:
        body = zlib.compress(b"".join(rows), 9)
    elif compression == DIFFERENCES:
        body = zlib.compress(b"".join(differences(row, depth) for row in rows), 9)
    else:
        body = b"".join(rows)
    section = b""
    if layers is not None or block:
        info = b"" if layers is None else layer_info(layers)
        section = struct.pack(">" + wide_, len(info)) + info + struct.pack(">I", 0) + (block or b"")
    return (b"8BPS" + struct.pack(">H6xHIIHH", 2 if large else 1, len(planes), size[1], size[0], depth, mode)
            + struct.pack(">I", len(palette)) + palette + struct.pack(">I", len(resources)) + resources
            + struct.pack(">" + wide_, len(section)) + section + struct.pack(">H", compression) + body)


def channels(pixel, depth=8):
    return [plane(lambda x, y, part=part: pixel(x, y)[part], depth) for part in range(len(pixel(0, 0)))]


def lab_to_rgb(values):
    """sRGB of 16 bits, by IEC 61966-2-1 and the matrix of Bradford from D50 to D65."""
    lightness, a, b = values[0] / 255 * 100, values[1] - 128, values[2] - 128
    height = (lightness + 16) / 116

    def root(value):
        return value ** 3 if value > 6 / 29 else 3 * (6 / 29) ** 2 * (value - 4 / 29)
    x, y, z = root(height + a / 500) * 0.9642, root(height), root(height - b / 200) * 0.8249
    light = (3.1338561 * x - 1.6168667 * y - 0.4906146 * z, -0.9787684 * x + 1.9161415 * y + 0.0334540 * z,
             0.0719453 * x - 0.2289914 * y + 1.4052427 * z)
    curved = (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055 for v in light)
    return tuple(math.floor(min(1, max(0, v)) * 65535 + 0.5) >> 8 for v in curved)


def entries():
    """(name, file, what it shows, its pixels or None, bits, whether it has alpha)."""
    yield "rgb-8-bit", psd(RGB, channels(color), layers=3), "RGB in runs, three layers", color, 8, False
    yield "rgb-not-packed", psd(RGB, channels(color), compression=RAW), "RGB, not compressed", color, 8, False
    yield "rgb-16-bit", psd(RGB, channels(wide, 16), 16), "RGB of 16 bits in runs", (
        lambda x, y: tuple(value >> 8 for value in wide(x, y))), 16, False
    yield "large", psd(RGB, channels(color), large=True, layers=1), "PSB: 64-bit lengths", color, 8, False
    stored = lambda x, y: tuple(mixed(v, opacity(x, y), 255) for v in color(x, y)) + (opacity(x, y),)  # noqa: E731
    yield "alpha", psd(RGB, channels(stored), layers=-1), "alpha, colors mixed with white", (
        lambda x, y: tuple(unmixed(v, stored(x, y)[3], 255) for v in stored(x, y)[:3]) + stored(x, y)[3:]), 8, True
    deep = lambda x, y: tuple(  # noqa: E731
        mixed(v, opacity(x, y) * 257, 65535) for v in wide(x, y)) + (opacity(x, y) * 257,)
    lr16 = b"8BIMMt16" + bytes(4) + b"8BIMLr16" + struct.pack(">I", len(layer_info(2))) + layer_info(2)
    yield "alpha-16-bit", psd(RGB, channels(deep, 16), 16, RAW, block=lr16), "alpha of 16 bits, marked by a block", (
        lambda x, y: tuple(unmixed(v, deep(x, y)[3], 65535) >> 8 for v in deep(x, y)[:3]) + (deep(x, y)[3] >> 8,)), 16, True
    yield "extra-channel", psd(RGB, channels(stored), layers=1), "RGB with a saved selection", (
        lambda x, y: stored(x, y)[:3]), 8, False
    gray = lambda x, y: (color(x, y)[2],)  # noqa: E731
    yield "gray", psd(GRAY, channels(gray)), "gray", lambda x, y: gray(x, y) * 3, 8, False
    faint = lambda x, y: (mixed(gray(x, y)[0], opacity(x, y), 255), opacity(x, y))  # noqa: E731
    yield "gray-alpha", psd(GRAY, channels(faint), layers=-2), "gray with alpha", (
        lambda x, y: (unmixed(*faint(x, y), 255),) * 3 + faint(x, y)[1:]), 8, True
    yield "bitmap", psd(BITMAP, channels(lambda x, y: ((x + y) % 3 // 2,), 1), 1), "1 bit, 1 is black", (
        lambda x, y: (0 if (x + y) % 3 // 2 else 255,) * 3), 1, False
    colors = [(value * 255 // 15, 255 - value * 255 // 15, value * 37 % 256) for value in range(16)]
    table = b"".join(bytes(entry[part] for entry in colors).ljust(256, b"\0") for part in range(3))
    number = lambda x, y: (x + 3 * y) % 16  # noqa: E731
    yield "indexed", psd(INDEXED, [plane(number)], palette=table), "a palette", (
        lambda x, y: colors[number(x, y)]), 8, False
    yield ("indexed-transparent", psd(INDEXED, [plane(number)], palette=table, resources=resource(1047, b"\0\5")),
           "a palette with a transparent index", lambda x, y: colors[number(x, y)] + (0 if number(x, y) == 5 else 255,),
           8, True)
    inks = lambda x, y: color(x, y) + (255 - x * 5,)  # noqa: E731
    yield "cmyk", psd(CMYK, channels(inks)), "CMYK, 0 is full ink", None, 8, False
    yield "duotone", psd(DUOTONE, channels(gray), palette=bytes(524)), "a duotone, decoded as gray", (
        lambda x, y: gray(x, y) * 3), 8, False
    yield "multichannel", psd(MULTICHANNEL, channels(color)), "inks of any color, decoded as gray", (
        lambda x, y: color(x, y)[:1] * 3), 8, False
    lab = lambda x, y: (40 + x * 15, 118 + y * 3, 122 + x)  # noqa: E731
    yield "lab", psd(LAB, channels(lab)), "CIE L*a*b*", lambda x, y: lab_to_rgb(lab(x, y)), 8, False
    light = lambda x, y: (x / 12, y / 6, (x + y) / 18)  # noqa: E731
    samples = lambda x, y: struct.unpack(">3f", struct.pack(">3f", *light(x, y)))  # noqa: E731
    rounded = lambda x, y: tuple(math.floor(v * 65535 + 0.5) >> 8 for v in samples(x, y))  # noqa: E731
    yield "float", psd(RGB, channels(light, 32), 32, RAW), "floats of 32 bits, linear light", rounded, 32, False
    yield "zip", psd(RGB, channels(color), compression=ZIP), "RGB in a zlib stream", color, 8, False
    yield "zip-differences", psd(RGB, channels(color), compression=DIFFERENCES), "differences in a zlib stream", color, 8, False
    yield "zip-differences-16-bit", psd(RGB, channels(wide, 16), 16, DIFFERENCES), "differences of 16 bits", (
        lambda x, y: tuple(value >> 8 for value in wide(x, y))), 16, False
    yield "zip-differences-float", psd(RGB, channels(light, 32), 32, DIFFERENCES), "differences of floats", rounded, 32, False
    facts = b"".join((
        resource(1005, struct.pack(">IHHIHH", 300 << 16, 1, 1, 150 << 16, 1, 1)),
        resource(1028, b"\x1c\x02\x05\x00\x05Title"), resource(1039, containers.profile("Wide", containers.WIDE)),
        resource(1058, containers.tiff(1)), resource(1060, b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"),
        resource(1036, struct.pack(">6I2H", 1, 40, 24, 120, 2880, 1005, 24, 1)
                 + (ledger.ROOT / "jpeg" / "baseline-420.jpg").read_bytes()),
        resource(1057, version_info(1))))
    yield "metadata", psd(RGB, channels(color), resources=facts, layers=1), "every resource that is read", color, 8, False


def rgba(pixel):
    return b"".join(
        bytes(values) if values[3] else bytes(4)
        for values in ((*pixel(x, y), 255)[:4] for y in range(HEIGHT) for x in range(WIDTH)))


def main():
    known = {path: entry for path, entry in ledger.load().items() if not path.startswith("psd/")}
    (ledger.ROOT / "psd" / "bad").mkdir(parents=True, exist_ok=True)

    def put(path, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": path.rsplit(".", 1)[-1], "origin": {"generated": ORIGIN},
                       "license": "CC0-1.0", "shows": shows, **result}

    for name, data, shows, pixel, bits, has_alpha in entries():
        expect = {"width": WIDTH, "height": HEIGHT, "frame_count": 1, "has_alpha": has_alpha, "bit_depth": bits}
        if name == "metadata":
            expect["color_profile"] = "icc"
        if pixel:
            expect |= {"pixel_sha256": hashlib.sha256(rgba(pixel)).hexdigest(), "digest_by": "python"}
        put(f"psd/{name}.{'psb' if name == 'large' else 'psd'}", data, shows, expect=expect)

    rows = channels(color)
    put("psd/bad/no-composite.psd", psd(RGB, [[b"\xff" * WIDTH] * HEIGHT] * 3, layers=2,
                                        resources=resource(1057, version_info(0))),
        "layers, and a white image in place of the composite", error="unsupportedFeature")
    put("psd/bad/rows-missing.psd", psd(RGB, rows, compression=RAW)[:-20], "the last rows are missing", error="truncated")
    put("psd/bad/short-runs.psd", psd(RGB, [[b"\1\1\1"] * HEIGHT] * 3), "runs end before their rows", error="corrupt")
    put("psd/bad/nine-bits.psd", psd(RGB, rows, 8)[:22] + struct.pack(">H", 9) + bytes(100), "9 bits per sample",
        error="corrupt")
    put("psd/bad/two-channels.psd", psd(RGB, rows[:2]), "RGB of two channels", error="corrupt")
    put("psd/bad/short-palette.psd", psd(INDEXED, [plane(lambda x, y: 0)], palette=bytes(48)), "a palette of 48 bytes",
        error="corrupt")
    put("psd/bad/lab-float.psd", psd(LAB, [[bytes(4 * WIDTH)] * HEIGHT] * 3, 32, RAW), "Lab of 32 bits, which does not exist",
        error="unsupportedFeature")
    put("psd/bad/zlib-header.psd", psd(RGB, rows, compression=ZIP).replace(b"\x78\xda", b"\x70\xda", 1),
        "the zlib stream begins with a wrong byte", error="corrupt")
    put("psd/bad/wide.psd", psd(RGB, [], size=(300_001, 1)), "wider than the format permits", error="corrupt")
    ledger.save(known)


main()
