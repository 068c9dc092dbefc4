#!/usr/bin/env python3
"""Writes Y4M whose samples are known, for coding without loss: planes.py 420|422|444 WIDTH HEIGHT LIMITED|FULL > FILE"""
import sys

chroma, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
half_width = width if chroma == "444" else (width + 1) // 2
half_height = (height + 1) // 2 if chroma == "420" else height

def plane(w, h, sample):
    return bytes(sample(x, y) for y in range(h) for x in range(w))

kind = {"420": "420jpeg", "422": "422", "444": "444"}[chroma]
out = b"YUV4MPEG2 W%d H%d F1:1 Ip A1:1 C%s XCOLORRANGE=%s\nFRAME\n" % (
    width, height, kind.encode(), sys.argv[4].encode())
out += plane(width, height, lambda x, y: 40 + (x * 37 + y * 11) % 176)
out += plane(half_width, half_height, lambda x, y: 64 + (x * 53 + y * 29) % 128)
out += plane(half_width, half_height, lambda x, y: 64 + (x * 71 + y * 17 + 90) % 128)
sys.stdout.buffer.write(out)
