#!/usr/bin/env python3
"""Writes a HEIC of three images, and what an independent decoder makes of them.   usage: collection.py OUT.heic

The images are red, green and blue ramps without loss (pillow-heif 1.x, libheif 1.23); the second one is the primary
image and has a thumbnail. Printed: the digest of each image as Fixtures/README.md states it, as pillow-heif
decodes it.
"""
import hashlib, sys
import pillow_heif

def ramp(width, height, channel):
    out = bytearray(width * height * 3)
    for y in range(height):
        for x in range(width):
            out[3 * (y * width + x) + channel] = (x * 255 // (width - 1) + y) & 255
    return ("RGB", (width, height), bytes(out))

images = [ramp(64, 64, 0), ramp(128, 64, 1), ramp(64, 128, 2)]
file = pillow_heif.HeifFile()
for image in images:
    file.add_frombytes(*image)
file[1].info["thumbnails"] = [64]
file.save(sys.argv[1], quality=-1, chroma=444, matrix_coefficients=0, primary_index=1)
for index, image in enumerate(pillow_heif.open_heif(sys.argv[1], convert_hdr_to_8bit=False)):
    data = bytes(image.data)
    pixels = [data[y * image.stride + 3 * x:][:3] + b"\xff" for y in range(image.size[1]) for x in range(image.size[0])]
    print(index, image.size, image.info["primary"], image.info["thumbnails"], hashlib.sha256(b"".join(pixels)).hexdigest())
