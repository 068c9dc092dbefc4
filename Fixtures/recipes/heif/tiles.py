#!/usr/bin/env python3
"""Writes the tiles of an image as HEIC files without loss.   usage: tiles.py ROWS COLUMNS SIDE PREFIX

PREFIX-ROW-COLUMN.heic; red grows to the right, green downwards over the whole image, blue differs in each tile
(pillow-heif 1.x). With --digest FILE: prints the digest of that file as Fixtures/README.md states it.
"""
import hashlib, sys
import pillow_heif

if sys.argv[1] == "--digest":
    image = pillow_heif.open_heif(sys.argv[2], convert_hdr_to_8bit=False)[0]
    data = bytes(image.data)
    pixels = [data[y * image.stride + 3 * x:][:3] + b"\xff" for y in range(image.size[1]) for x in range(image.size[0])]
    print(image.size, hashlib.sha256(b"".join(pixels)).hexdigest())
    sys.exit()

rows, columns, side = map(int, sys.argv[1:4])
for row in range(rows):
    for column in range(columns):
        data = bytes(value for y in range(side) for x in range(side) for value in (
            (column * side + x) * 255 // (columns * side), (row * side + y) * 255 // (rows * side),
            (row * columns + column) * 40))
        pillow_heif.from_bytes("RGB", (side, side), data).save(
            f"{sys.argv[4]}-{row}-{column}.heic", quality=-1, chroma=444, matrix_coefficients=0)
