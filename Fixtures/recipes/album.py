#!/usr/bin/env python3
"""Puts JPEG files behind a first one and an index of them (CIPA DC-007) into it.

    album.py multi-picture   Exif with a position in the first and the last image; the last is stored turned
    album.py gain-map        XMP of Ultra HDR in both images

Run in Fixtures/jpeg; `thumbnail` is the file that recipes.txt makes before.
"""
import struct
import sys
from pathlib import Path


def segment(marker, name, body):
    return struct.pack(">BBH", 0xFF, marker, 2 + len(name) + len(body)) + name + body


def behind_metadata(jpeg):
    """Where the segments end that stand before the first table."""
    at = 2
    while jpeg[at + 1] & 0xF0 == 0xE0:
        at += 2 + int.from_bytes(jpeg[at + 2:at + 4], "big")
    return at


def with_segment(jpeg, new):
    at = behind_metadata(jpeg)
    return jpeg[:at] + new + jpeg[at:]


def exif(orientation=None):
    """Big-endian: IFD0 with an orientation where there is one, and a GPS directory with the latitude 52 degrees north."""
    count = 1 if orientation is None else 2
    gps = 8 + 2 + 12 * count + 4
    tiff = b"MM\0\x2a" + struct.pack(">IH", 8, count)
    if orientation is not None:
        tiff += struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    tiff += struct.pack(">HHIII", 0x8825, 4, 1, gps, 0)
    tiff += struct.pack(">HHHI4s", 2, 1, 2, 2, b"N\0\0\0")
    tiff += struct.pack(">HHIII", 2, 5, 3, gps + 2 + 24 + 4, 0)
    tiff += struct.pack(">6I", 52, 1, 0, 1, 0, 1)
    return segment(0xE1, b"Exif\0\0", tiff)


def xmp(attributes):
    packet = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" %s/></rdf:RDF></x:xmpmeta>')
    return segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0", (packet % attributes).encode())


def index(entries):
    head = b"MM\0\x2a" + struct.pack(">IH", 8, 3)
    head += struct.pack(">HHI4s", 0xB000, 7, 4, b"0100")
    head += struct.pack(">HHII", 0xB001, 4, 1, len(entries))
    head += struct.pack(">HHII", 0xB002, 7, 16 * len(entries), 8 + 2 + 36 + 4)
    head += struct.pack(">I", 0)
    return segment(0xE2, b"MPF\0", head + b"".join(struct.pack(">IIIHH", *entry, 0, 0) for entry in entries))


def album(first, others):
    """`others` are pairs of an attribute word and a file."""
    size = len(with_segment(first, index([(0, 0, 0)] * (1 + len(others)))))
    # Offsets count from behind the marker, the length and the name.
    base = behind_metadata(first) + 8
    # The first image is the representative one, a baseline primary image.
    entries, offset = [(0x20030000, size, 0)], size - base
    for attribute, jpeg in others:
        entries.append((attribute, len(jpeg), offset))
        offset += len(jpeg)
    return with_segment(first, index(entries)) + b"".join(jpeg for _, jpeg in others)


def read(name):
    return Path(name).read_bytes()


if sys.argv[1] == "multi-picture":
    turned = with_segment(read("progressive-422.jpg"), exif(orientation=6))
    made = album(with_segment(read("baseline-420.jpg"), exif()), [(0x00010001, read("thumbnail")), (0, turned)])
else:
    gain_map = with_segment(read("gray.jpg"), xmp('hdrgm:Version="1.0" hdrgm:GainMapMax="2.5"'))
    made = album(with_segment(read("baseline-420.jpg"), xmp('hdrgm:Version="1.0"')), [(0, gain_map)])
Path(sys.argv[1] + ".jpg").write_bytes(made)
