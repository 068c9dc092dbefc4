#!/usr/bin/env python3
"""Writes Y4M, 4:4:4 and alpha, of known samples that move: motion.py WIDTH HEIGHT FRAME > FILE"""
import sys

width, height, frame = (int(word) for word in sys.argv[1:4])


def plane(sample):
    return bytes(sample(x, y) for y in range(height) for x in range(width))


out = b"YUV4MPEG2 W%d H%d F1:1 Ip A1:1 C444alpha XCOLORRANGE=FULL\nFRAME\n" % (width, height)
out += plane(lambda x, y: 40 + ((x + frame) * 37 + y * 11) % 176)
out += plane(lambda x, y: 64 + (x * 53 + (y + frame) * 29) % 128)
out += plane(lambda x, y: 64 + (x * 71 + y * 17 + frame * 90) % 128)
out += plane(lambda x, y: (x * 9 + y * 5 + frame * 40) % 256)
sys.stdout.buffer.write(out)
