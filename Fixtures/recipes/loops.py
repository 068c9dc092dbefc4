#!/usr/bin/env python3
"""Puts an edit list into every track of a sequence as libavif 0.11.1 writes it: loops.py PLAYS < FILE > FILE"""
import struct
import sys

plays, data = int(sys.argv[1]), bytearray(sys.stdin.buffer.read())


def find(kind, start=0):
    return data.index(kind, start) - 4


movie = find(b"moov")
movie_size = struct.unpack_from(">I", data, movie)[0]
duration = struct.unpack_from(">Q", data, find(b"mvhd") + 8 + 24)[0]
tracks = []
at = data.find(b"tkhd", movie)
while at != -1 and at < movie + movie_size:
    tracks.append(at - 4)
    at = data.find(b"tkhd", at + 4)
edit = struct.pack(">I4sI4sIIQqI", 44, b"edts", 36, b"elst", 1 << 24 | 1, 1, duration, 0, 1 << 16)
moved = len(edit) * len(tracks)

items = find(b"iloc") + 8
count = struct.unpack_from(">H", data, items + 6)[0]
for index in range(count):
    place = items + 8 + 14 * index + 6
    struct.pack_into(">I", data, place, struct.unpack_from(">I", data, place)[0] + moved)
at = movie
for _ in tracks:
    at = find(b"stco", at + 8)
    struct.pack_into(">I", data, at + 16, struct.unpack_from(">I", data, at + 16)[0] + moved)
    at += 8
struct.pack_into(">Q", data, find(b"mvhd") + 8 + 24, plays * duration)
struct.pack_into(">I", data, movie, movie_size + moved)
for track in reversed(tracks):
    struct.pack_into(">Q", data, track + 8 + 28, plays * duration)
    outer = track - 8
    struct.pack_into(">I", data, outer, struct.unpack_from(">I", data, outer)[0] + len(edit))
    data[track + 104:track + 104] = edit
sys.stdout.buffer.write(data)
