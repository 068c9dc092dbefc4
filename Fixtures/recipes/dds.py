#!/usr/bin/env python3
"""Makes the DDS files of classics/ and their entries in manifest.json, from blocks of random bits.

    python3 Fixtures/recipes/dds.py

Pillow 13 decodes the blocks for the digests; the pixels that are no blocks are known without a decoder.
"""

import hashlib
import io
import random
import struct
import sys

sys.dont_write_bytecode = True

import ledger  # noqa: E402
from PIL import Image  # noqa: E402

ORIGIN = "recipes/dds.py"


def dds(width, height, body, code=b"DX10", flags=4, bits=0, masks=(0, 0, 0, 0), dxgi=None, levels=1, caps=0):
    head = struct.pack("<IIIIIII44x", 124, 0x1007 | (0x20000 if levels > 1 else 0), height, width, 0, 0, levels)
    head += struct.pack("<II4sIIIII", 32, flags, code, bits, *masks)
    head += struct.pack("<IIIII", 0x1000 | (0x400008 if levels > 1 else 0), caps, 0, 0, 0)
    more = struct.pack("<IIIII", dxgi, 3, 0, 1, 0) if dxgi is not None else b""
    return b"DDS " + head + more + body


def rgba(image):
    pixels = image.convert("RGBA").tobytes()
    return b"".join(pixels[at:at + 4] if pixels[at + 3] else bytes(4) for at in range(0, len(pixels), 4))


def blocks(seed, count, size):
    dice = random.Random(seed)
    return [bytearray(dice.randbytes(size)) for _ in range(count)]


def in_modes(all_blocks):
    """Sets the modes of BC7, each in turn."""
    for number, block in enumerate(all_blocks):
        mode = number % 8
        block[0] = (block[0] & ~((2 << mode) - 1) & 255) | 1 << mode
    return all_blocks


def in_partitions(all_blocks):
    """Every partition of two subsets in mode 1, and of three subsets in mode 2."""
    for number, block in enumerate(all_blocks):
        if number < 64:
            block[0] = 2 | number << 2
        else:
            part = number - 64
            block[0] = 4 | (part & 31) << 3
            block[1] = block[1] & 0xFE | part >> 5
    return all_blocks


def pixel(x, y):
    return (x * 19 % 256, y * 36 % 256, (x * 7 + y * 29) % 256)


def mask_file():
    """Pixels of 5, 6 and 5 bits; each is scaled and rounded."""
    stored = [[value * most // 255 for value, most in zip(pixel(x, y), (31, 63, 31))] for y in range(7) for x in range(13)]
    body = b"".join(struct.pack("<H", red << 11 | green << 5 | blue) for red, green, blue in stored)
    shown = b"".join(bytes((value * 510 + most) // (2 * most) for value, most in zip(values, (31, 63, 31))) + b"\xff"
                     for values in stored)
    return dds(13, 7, body, b"\0\0\0\0", 0x40, 16, (0xF800, 0x7E0, 0x1F, 0)), shown


def cube_file():
    """Six faces of one color each, in three levels whose blue differs."""
    body = b"".join(bytes([60 * level, face * 40, 255 - face * 40, 255]) * ((4 >> level) ** 2)
                    for face in range(6) for level in range(3))
    data = dds(4, 4, body, b"\0\0\0\0", 0x41, 32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000), levels=3, caps=0xFE00)
    return data, bytes([255, 0, 0, 255]) * 16


def main():
    known = {path: entry for path, entry in ledger.load().items() if not path.endswith(".dds")}
    (ledger.ROOT / "classics" / "bad").mkdir(parents=True, exist_ok=True)

    def put(path, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": "dds", "origin": {"generated": ORIGIN}, "license": "CC0-1.0",
                       "shows": shows, **result}

    def good(name, data, size, shows, shown, alpha, by):
        put(f"classics/{name}.dds", data, shows, expect={
            "width": size[0], "height": size[1], "frame_count": 1, "has_alpha": alpha,
            "pixel_sha256": hashlib.sha256(shown).hexdigest(), "digest_by": by})

    for name, code, size, alpha in (("bc1", b"DXT1", 8, True), ("bc2", b"DXT3", 16, True), ("bc3", b"DXT5", 16, True),
                                    ("bc4", b"BC4U", 8, False), ("bc5", b"BC5U", 16, False)):
        body = b"".join(blocks(name, 8, size))
        data = dds(13, 7, body, code)
        good(name, data, (13, 7), f"blocks of {name.upper()}, cut at the edges", rgba(Image.open(io.BytesIO(data))), alpha, "pillow")
    for name, body, size in (("bc7-modes", in_modes(blocks("modes", 32, 16)), (32, 16)),
                             ("bc7-partitions", in_partitions(blocks("partitions", 128, 16)), (64, 32))):
        data = dds(*size, b"".join(body), dxgi=98)
        good(name, data, size, name.replace("-", ", all "), rgba(Image.open(io.BytesIO(data))), True, "pillow")
    data, shown = mask_file()
    good("masks", data, (13, 7), "pixels of 5, 6 and 5 bits", shown, False, "python")
    data, shown = cube_file()
    good("cube", data, (4, 4), "six faces with three levels", shown, True, "python")
    put("classics/bad/rows-missing.dds", dds(13, 7, bytes(40), b"DXT1"), "a row of blocks is missing", error="truncated")
    put("classics/bad/mask-with-a-hole.dds", dds(1, 1, bytes(4), b"\0\0\0\0", 0x40, 32, (0xF0F0, 0, 0, 0)),
        "a mask of color bits that are not adjacent", error="corrupt")
    put("classics/bad/video.dds", dds(2, 2, bytes(8), b"YUY2"), "a video format", error="unsupportedFeature")
    put("classics/bad/many-images.dds", b"DDS " + dds(1, 1, b"", dxgi=28)[4:140] + struct.pack("<II", 2**32 - 1, 0),
        "four billion images", error="corrupt")
    ledger.save(known)


main()
