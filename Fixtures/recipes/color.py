#!/usr/bin/env python3
"""Makes color/*.icc; with --goldens prints what another program makes of their colours.

The goldens are for Tests/ImageProcessingTests/ColorGoldens.swift: Little CMS through Pillow (PIL.ImageCms, 8 bits,
relative colorimetric, black point compensation, no optimisation) from each profile to Little CMS' own sRGB, for the
cube of 0, 85, 170, 255 in each channel, the last channel fastest.
"""

import itertools
import struct
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "color"
D50 = (0.9642, 1.0, 0.8249)
# Columns of linear RGB to D50 XYZ: Adobe RGB (1998) 2005-05 annex B, SMPTE EG 432-1 through Bradford.
ADOBE = [(0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457)]
P3 = [(0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407)]


def fixed(value):
    return struct.pack(">i", round(value * 65536))


def xyz(values):
    return b"XYZ \0\0\0\0" + b"".join(map(fixed, values))


def curv(values):
    return b"curv\0\0\0\0" + struct.pack(f">I{len(values)}H", len(values), *values)


def srgb_light(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def assemble(kind, space, connection, tags, version=b"\x02\x10\0\0"):
    """ICC.1:2001-04, 6.1 and 6.2."""
    description = b"desc\0\0\0\0" + struct.pack(">I", 5) + b"test\0" + bytes(4 + 4 + 2 + 1 + 67)
    tags = [(b"desc", description), (b"cprt", b"text\0\0\0\0No rights reserved\0"), (b"wtpt", xyz(D50))] + tags
    table, body = struct.pack(">I", len(tags)), b""
    start = 132 + 12 * len(tags)
    for name, data in tags:
        table += name + struct.pack(">II", start + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    head = struct.pack(
        ">I4s4s4s4s4s6H4s", start + len(body), bytes(4), version, kind, space, connection, 2024, 1, 1, 0, 0, 0,
        b"acsp") + bytes(28) + b"".join(map(fixed, D50))
    return head.ljust(128, b"\0") + table + body


def matrix(columns, curve):
    names = [b"rXYZ", b"gXYZ", b"bXYZ"]
    return assemble(b"mntr", b"RGB ", b"XYZ ", [(n, xyz(c)) for n, c in zip(names, columns)]
                    + [(n, curve) for n in (b"rTRC", b"gTRC", b"bTRC")])


def lab(light):
    """L*a*b* of linear sRGB, relative to D50."""
    columns = [(0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410)]
    f = []
    for i in range(3):
        ratio = sum(light[c] * columns[c][i] for c in range(3)) / D50[i]
        f.append(ratio ** (1 / 3) if ratio > 216 / 24389 else (24389 / 27 * ratio + 16) / 116)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def table(inputs, points, color):
    """lut8Type (ICC.1:2001-04, 6.5.8): straight curves around a grid of Lab."""
    data = b"mft1\0\0\0\0" + bytes([inputs, 3, points, 0])
    data += b"".join(fixed(v) for v in (1, 0, 0, 0, 1, 0, 0, 0, 1))
    data += bytes(range(256)) * inputs
    for grid in itertools.product(range(points), repeat=inputs):
        lightness, a, b = color([g / (points - 1) for g in grid])
        data += bytes(min(255, max(0, round(v))) for v in (lightness * 2.55, a + 128, b + 128))
    return data + bytes(range(256)) * 3


def inks(values):
    """Cyan, magenta and yellow that are not pure, over paper."""
    cyan, magenta, yellow, black = values
    light = [1.0, 1.0, 1.0]
    for ink, stays in ((cyan, (0.02, 0.35, 0.80)), (magenta, (0.70, 0.03, 0.22)), (yellow, (0.90, 0.75, 0.02)),
                       (black, (0.02, 0.02, 0.02))):
        light = [l * (1 - ink + ink * s) for l, s in zip(light, stays)]
    return lab(light)


def make():
    yield ("adobe-rgb.icc", matrix(ADOBE, curv([563])), "primaries of Adobe RGB and a gamma of 563/256")
    samples = [round(srgb_light(i / 1023) * 65535) for i in range(1024)]
    yield ("display-p3-sampled.icc", matrix(P3, curv(samples)), "primaries of Display P3, a curve of 1024 samples")
    yield ("gray-gamma-18.icc", assemble(b"mntr", b"GRAY", b"XYZ ", [(b"kTRC", curv([461]))]), "gray of gamma 1.8")
    yield ("cmyk-table.icc", assemble(b"prtr", b"CMYK", b"Lab ", [(b"A2B0", table(4, 7, inks))]),
           "four inks to Lab by a table of 7 points a side")
    # Red and green change places, so that a matrix could never be mistaken for it.
    yield ("rgb-table.icc", assemble(b"scnr", b"RGB ", b"Lab ", [
        (b"A2B0", table(3, 17, lambda v: lab([srgb_light(x) for x in (v[1], v[0], v[2])])))]),
        "RGB to Lab by a table of 17 points a side, red and green exchanged")


def goldens():
    from PIL import Image, ImageCms
    target = ImageCms.createProfile("sRGB")
    for name, _, _ in make():
        mode = {"cmyk": "CMYK", "gray": "L"}.get(name.split("-")[0], "RGB")
        levels = range(0, 256, 17) if mode == "L" else (0, 85, 170, 255)
        cube = bytes(v for color in itertools.product(levels, repeat=len(mode) if mode != "L" else 1) for v in color)
        image = Image.frombytes(mode, (len(cube) // len(Image.new(mode, (1, 1)).tobytes()), 1), cube)
        # 0x2000 black point compensation, 0x0100 no optimisation, 0x0040 no cache.
        transform = ImageCms.buildTransform(
            str(FOLDER / name), target, mode, "RGB", ImageCms.Intent.RELATIVE_COLORIMETRIC, 0x2140)
        print(name, ImageCms.applyTransform(image, transform).tobytes().hex())


def main():
    if "--goldens" in sys.argv:
        return goldens()
    FOLDER.mkdir(exist_ok=True)
    for name, data, shows in make():
        (FOLDER / name).write_bytes(data)
        print(f"Fixtures/add-entry Fixtures/color/{name} --origin recipes/color.py --error unrecognizedFormat "
              f"--shows '{shows}'")


main()
