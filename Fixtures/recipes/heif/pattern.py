#!/usr/bin/env python3
"""Writes the source pictures of the fixtures: ramps, so that lossy coding moves no sample far.

usage: pattern.py KIND WIDTH HEIGHT > FILE          KIND: rgb8 rgb16 rgba8 gray8 (PNG), ppm

red = 255 x / (W-1), green = 255 y / (H-1), blue = 128, alpha = 255 - red; gray = red; 16 bits: the same of 65535.
"""
import struct, sys, zlib

kind, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
full = 65535 if kind == "rgb16" else 255

def pixel(x, y):
    red = (2 * full * x + width - 1) // (2 * (width - 1))
    green = (2 * full * y + height - 1) // (2 * (height - 1))
    rgb = (red, green, (full + 1) // 2)
    return {"gray8": rgb[:1], "rgba8": rgb + (255 - red,)}.get(kind, rgb)

def row(y):
    samples = [s for x in range(width) for s in pixel(x, y)]
    return struct.pack(">%d%s" % (len(samples), "H" if full > 255 else "B"), *samples)

def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

if kind == "ppm":
    out = b"P6\n%d %d\n255\n" % (width, height) + b"".join(map(row, range(height)))
else:
    color = {"gray8": 0, "rgba8": 6}.get(kind, 2)
    header = struct.pack(">IIBBBBB", width, height, 16 if full > 255 else 8, color, 0, 0, 0)
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(
        b"IDAT", zlib.compress(b"".join(b"\0" + row(y) for y in range(height)))) + chunk(b"IEND", b"")
sys.stdout.buffer.write(out)
