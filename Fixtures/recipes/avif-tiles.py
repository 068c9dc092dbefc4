#!/usr/bin/env python3
"""Writes the tiles of an image as Y4M of known samples.

usage: avif-tiles.py 420|422|444|alpha BITS ROWS COLUMNS SIDE PREFIX

PREFIX-ROW-COLUMN.y4m; the samples go on from tile to tile, so that colors are interpolated across the seams. With
`alpha` the tiles are gray and of the full range.
"""
import sys

kind, bits, rows, columns, side = sys.argv[1], *map(int, sys.argv[2:6])
prefix = sys.argv[6]
top, unit = 1 << bits, 1 << (bits - 8)


def plane(width, height, left, up, sample):
    size = 1 if bits == 8 else 2
    return b"".join(sample(left + x, up + y).to_bytes(size, "little") for y in range(height) for x in range(width))


def wave(place, height):
    """Up to `height` and down again, without a jump."""
    return abs(place % (2 * height) - height)


def luma(x, y):
    return unit * (40 + wave(x * 2 + y, 176))


def blue(x, y):
    return unit * (64 + wave(x + y, 128))


def red(x, y):
    return unit * (64 + wave(x * 2 + y + 90, 128))


def alpha(x, y):
    return wave((x * 2 + y) * unit, top - 1)


wide = side if kind == "444" else side // 2
high = side // 2 if kind == "420" else side
if bits == 8:
    name = {"420": "420jpeg", "alpha": "mono"}.get(kind, kind)
else:
    name = {"alpha": "mono"}.get(kind, kind + "p") + str(bits)
for row in range(rows):
    for column in range(columns):
        out = b"YUV4MPEG2 W%d H%d F1:1 Ip A1:1 C%s XCOLORRANGE=%s\nFRAME\n" % (
            side, side, name.encode(), b"FULL" if kind == "alpha" else b"LIMITED")
        out += plane(side, side, column * side, row * side, alpha if kind == "alpha" else luma)
        if kind != "alpha":
            for sample in (blue, red):
                out += plane(wide, high, column * wide, row * high, sample)
        with open(f"{prefix}-{row}-{column}.y4m", "wb") as file:
            file.write(out)
