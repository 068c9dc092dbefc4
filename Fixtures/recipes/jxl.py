#!/usr/bin/env python3
"""Makes boxes.jxl, packed-boxes.jxl and jxl/bad/ from lossless.jxl, byte by byte, and their entries in manifest.json.

    python3 Fixtures/recipes/jxl.py

The other files of jxl/ are by cjxl: jxl/recipes.txt.
"""

import struct
import sys

sys.dont_write_bytecode = True

import ledger  # noqa: E402

ORIGIN = "recipes/jxl.py"
SIGNATURE = bytes.fromhex("0000000c4a584c200d0a870a")
# One entry: orientation 6.
EXIF = b"II*\0" + struct.pack("<IHHHII", 8, 1, 0x112, 3, 1, 6) + bytes(4)
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"


def box(kind, data):
    return struct.pack(">I", 8 + len(data)) + kind + data


def brotli(data):
    """A brotli stream of one stored block (RFC 7932, 9.2): window of 16 bits, length, the flag, then the end."""
    bits = 0 | 0 << 1 | 0 << 2 | (len(data) - 1) << 4 | 1 << 20
    return bits.to_bytes(3, "little") + data + b"\x03"


def container(codestream, packed):
    def metadata(kind, data):
        return box(b"brob", kind + brotli(data)) if packed else box(kind, data)
    return (SIGNATURE + box(b"ftyp", b"jxl \0\0\0\0jxl ") + metadata(b"Exif", bytes(4) + EXIF) + metadata(b"xml ", XMP)
            + box(b"jxlc", codestream) + metadata(b"jumb", b"provenance"))


def wide():
    """A header of 2^30 - 1 squared pixels and nothing else (ISO/IEC 18181-1: SizeHeader, all other fields default)."""
    bits, at = 0, 0
    for value, width in ((0, 1), (3, 2), ((1 << 30) - 2, 30), (1, 3), (1, 1), (1, 1)):
        bits, at = bits | value << at, at + width
    return b"\xff\x0a" + bits.to_bytes((at + 7) // 8, "little") + bytes(8)


def main():
    known = ledger.load()
    lossless = (ledger.ROOT / "jxl/lossless.jxl").read_bytes()
    plain = known["jxl/lossless.jxl"]["expect"]
    (ledger.ROOT / "jxl/bad").mkdir(exist_ok=True)

    def put(path, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": "jxl", "origin": {"generated": ORIGIN}, "license": "CC0-1.0",
                       "shows": shows, **result}

    put("jxl/boxes.jxl", container(lossless, False), "Exif, XMP and provenance in boxes", expect=plain)
    put("jxl/packed-boxes.jxl", container(lossless, True), "the same metadata in boxes packed by brotli", expect=plain)
    put("jxl/bad/cut.jxl", lossless[:-60], "the end of the image is missing", error=["truncated", "corrupt"])
    put("jxl/bad/wide.jxl", wide(), "an exapixel in 15 bytes", error="limitExceeded")
    ledger.save(known)


main()
