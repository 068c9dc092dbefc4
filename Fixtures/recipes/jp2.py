#!/usr/bin/env python3
"""Makes the raw samples for opj_compress, and the files of jp2/ whose boxes are written byte by byte, with their entries.

    python3 Fixtures/recipes/jp2.py raw FOLDER       twelve.raw, signed.raw, chroma.yuv
    python3 Fixtures/recipes/jp2.py boxes            from gray.jp2, lossless.jp2, tiles.j2k

The other files of jp2/ are by opj_compress: jp2/recipes.txt.
"""

import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import ledger  # noqa: E402

ORIGIN = "recipes/jp2.py"
SIGNATURE = bytes.fromhex("0000000c6a5020200d0a870a")
# One entry: orientation 6.
EXIF = b"II*\0" + struct.pack("<IHHHII", 8, 1, 0x112, 3, 1, 6) + bytes(4)
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
UUID_XMP = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
UUID_IPTC = bytes.fromhex("33c7a4d2b81d4723a0baf1a3e097ad38")
# IPTC record 2, data set 120: a caption.
IPTC = b"\x1c\x02\x78\0\x05hello"


def box(kind, data):
    return struct.pack(">I", 8 + len(data)) + kind + data


def codestream(name):
    data = (ledger.ROOT / "jp2" / name).read_bytes()
    return data[data.index(b"\xff\x4f\xff\x51"):]


def container(header, stream, before=b"", after=b""):
    return (SIGNATURE + box(b"ftyp", b"jp2 \0\0\0\0jp2 ") + box(b"jp2h", header) + before + box(b"jp2c", stream) + after)


def image_header(stream, channels=None):
    width, height = struct.unpack(">II", stream[8:16])
    count = channels or struct.unpack(">H", stream[40:42])[0]
    return box(b"ihdr", struct.pack(">IIHBBBB", height, width, count, 7, 7, 0, 0))


def enumerated(number):
    return box(b"colr", struct.pack(">BBBI", 1, 0, 0, number))


def raw(folder):
    folder.mkdir(parents=True, exist_ok=True)
    # Steps of 32 up to 4064; x * 16 + y from -128 on; a ramp in luma, two halves in the color differences.
    twelve = [(32 * (x + 16 * y)) % 4096 for y in range(8) for x in range(16)]
    (folder / "twelve.raw").write_bytes(struct.pack(">128H", *twelve))
    signed = [x * 16 + y - 128 for y in range(8) for x in range(16)]
    (folder / "signed.raw").write_bytes(struct.pack(">128b", *signed))
    luma = bytes(15 * x + y for y in range(10) for x in range(16))
    blue = bytes(90 if x < 4 else 170 for y in range(5) for x in range(8))
    red = bytes(200 if y < 3 else 60 for y in range(5) for x in range(8))
    (folder / "chroma.yuv").write_bytes(luma + blue + red)


def boxes():
    known = ledger.load()
    gray, color = codestream("gray.jp2"), codestream("lossless.jp2")
    plain = known["jp2/lossless.jp2"]["expect"]
    (ledger.ROOT / "jp2/bad").mkdir(exist_ok=True)

    def put(path, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": "jp2", "origin": {"generated": ORIGIN}, "license": "CC0-1.0",
                       "shows": shows, **result}

    size = {key: known["jp2/gray.jp2"]["expect"][key] for key in ("width", "height")}
    # Entry n is (n, 255 - n, n / 2).
    palette = box(b"pclr", struct.pack(">HB3B", 256, 3, 7, 7, 7) + b"".join(bytes((n, 255 - n, n // 2)) for n in range(256)))
    mapping = box(b"cmap", b"".join(struct.pack(">HBB", 0, 1, n) for n in range(3)))
    put("jp2/palette.jp2", container(image_header(gray) + enumerated(16) + palette + mapping, gray),
        "a palette of 256 colors", expect=size)
    # The first component is blue, the last one is red.
    order = box(b"cdef", struct.pack(">10H", 3, 0, 0, 3, 1, 0, 2, 2, 0, 1))
    put("jp2/blue-first.jp2", container(image_header(color) + enumerated(16) + order, color),
        "the components are blue, green, red", expect={key: plain[key] for key in ("width", "height")})
    # 300 / 2.54 dots per centimeter: 11811 per meter, vertical first.
    density = box(b"res ", box(b"resc", struct.pack(">4H2b", 11811, 1, 23622, 1, 0, 0)))
    metadata = box(b"uuid", b"JpgTiffExif->JP2" + EXIF) + box(b"uuid", UUID_XMP + XMP)
    put("jp2/boxes.jp2",
        container(image_header(color) + enumerated(16) + density, color, metadata, box(b"uuid", UUID_IPTC + IPTC)),
        "Exif, XMP, IPTC and density in boxes", expect={**plain, "orientation": 6})
    tiles = codestream("tiles.j2k")
    put("jp2/bad/cut.j2k", tiles[:len(tiles) * 2 // 3], "the last tiles are missing", error="truncated")
    wide = b"\xff\x4f\xff\x51" + struct.pack(">HHIIIIIIIIH3B", 41, 0, 1 << 30, 1 << 30, 0, 0, 1 << 30, 1 << 30, 0, 0, 1, 7, 1, 1)
    coding = b"\xff\x52" + struct.pack(">HBBHBBBBBB", 12, 0, 0, 1, 0, 5, 4, 4, 0, 1)
    put("jp2/bad/wide.j2k", wide + coding + b"\xff\x5c\0\x13\x40" + bytes(range(8, 24)) + b"\xff\x90\0\x0a\0\0\0\0\0\x0e\0\x01\xff\x93\xff\xd9",
        "an exapixel in 100 bytes", error="limitExceeded")
    ledger.save(known)


if sys.argv[1] == "raw":
    raw(Path(sys.argv[2]))
else:
    boxes()
