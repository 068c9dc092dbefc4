#!/usr/bin/env python3
"""Writes small metadata.   usage: metadata.py exif ORIENTATION > FILE | metadata.py icc > FILE
                                 metadata.py unturn|limited < IN > OUT

exif    a TIFF stream, little endian, with tag 0x0112 and nothing else
icc     a profile header of 132 bytes with the signature 'acsp' and no tags: enough to be carried
unturn  exchanges width and height in every 'ispe' box
limited takes the full-range flag out of every 'colr' box of type 'nclx'
"""
import re, struct, sys

kind = sys.argv[1]
if kind == "exif":
    out = struct.pack("<2sHIHHHIII", b"II", 42, 8, 1, 0x0112, 3, 1, int(sys.argv[2]), 0)
elif kind == "icc":
    out = bytearray(132)
    out[0:4] = struct.pack(">I", 132)
    out[8:12] = b"\x04\x30\0\0"
    out[12:24] = b"mntrRGB XYZ "
    out[36:40] = b"acsp"
elif kind == "limited":
    out = re.sub(b"colrnclx(.{6})\x80", rb"colrnclx\1\0", sys.stdin.buffer.read(), flags=re.S)
else:
    out = re.sub(b"ispe(\0{4})(....)(....)", rb"ispe\1\3\2", sys.stdin.buffer.read(), flags=re.S)
sys.stdout.buffer.write(out)
