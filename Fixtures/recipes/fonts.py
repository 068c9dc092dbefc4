#!/usr/bin/env python3
"""Makes fonts/boxes.ttf: a TrueType font whose glyphs are boxes, so that the pixels of a text can be computed.

The em square has 16 units: at a size of 16 pixels a unit is a pixel. A ligature f_i and the four forms of the Arabic
letter beh show whether a program shapes a text, and the pair AB whether it kerns.

    python3 Fixtures/recipes/fonts.py
"""
import struct
from pathlib import Path

# name: (advance, box as left, bottom, right, top), in the order of the glyphs
GLYPHS = {
    ".notdef": (6, (1, 0, 5, 8)), "space": (4, None), "A": (8, (1, 0, 7, 10)), "B": (5, (0, 0, 4, 4)),
    "f": (4, (0, 0, 2, 12)), "i": (3, (1, 0, 2, 6)), "f_i": (7, (0, 0, 6, 12)), "beh": (8, (0, 0, 8, 2)),
    "beh.init": (3, (0, 0, 3, 4)), "beh.medi": (4, (0, 0, 4, 6)), "beh.fina": (5, (0, 0, 5, 8)),
    "alef-hb": (2, (0, 0, 2, 3)), "bet-hb": (6, (0, 0, 6, 9)), "g": (5, (0, -4, 4, 4)),
}
CHARACTERS = {
    " ": "space", "A": "A", "B": "B", "f": "f", "g": "g", "i": "i", "\u05d0": "alef-hb", "\u05d1": "bet-hb",
    "\u0628": "beh",
}
KERNING = {("A", "B"): -2}
UNITS, ASCENDER, DESCENDER = 16, 12, -4
NUMBER = {name: number for number, name in enumerate(GLYPHS)}


def pack(form, *values):
    return struct.pack(">" + form, *values)


def outline(box):
    if box is None:
        return b""
    left, bottom, right, top = box
    # Clockwise: up the left side, to the right, down.
    points = [(left, bottom), (left, top), (right, top), (right, bottom)]
    data = pack("hhhhh", 1, *box) + pack("HH", 3, 0) + bytes([1] * 4)
    for axis in (0, 1):
        last = 0
        for point in points:
            data += pack("h", point[axis] - last)
            last = point[axis]
    return data + b"\0" * (-len(data) % 4)


def cmap():
    # Format 12: one group a character.
    groups = b"".join(pack("III", ord(c), ord(c), NUMBER[name]) for c, name in sorted(CHARACTERS.items()))
    table = pack("HHIII", 12, 0, 16 + len(groups), 0, len(CHARACTERS)) + groups
    return pack("HH", 0, 1) + pack("HHI", 3, 10, 12) + table


def kern():
    pairs = b"".join(pack("HHh", NUMBER[a], NUMBER[b], by) for (a, b), by in sorted(KERNING.items()))
    search = 6 * (1 << (len(KERNING).bit_length() - 1))
    table = pack("HHHH", len(KERNING), search, len(KERNING).bit_length() - 1, 6 * len(KERNING) - search) + pairs
    return pack("HH", 0, 1) + pack("HHH", 0, 6 + len(table), 1) + table


def coverage(glyph):
    return pack("HHH", 1, 1, NUMBER[glyph])


def single(source, target):
    return pack("HHH", 1, 6, (NUMBER[target] - NUMBER[source]) & 0xFFFF) + coverage(source)


def ligature(first, second, target):
    table = pack("HHHHH", 1, 4, NUMBER[target], 2, NUMBER[second])
    return pack("HHHH", 1, 8 + len(table), 1, 8) + table + coverage(first)


def lookup(kind, subtable):
    return pack("HHHH", kind, 0, 1, 8) + subtable


def listed(tags, tables, with_tags):
    """A count, the offsets (after tags), and the tables."""
    at = 2 + (6 if with_tags else 2) * len(tables)
    head, body = pack("H", len(tables)), b""
    for tag, table in zip(tags, tables):
        head += (tag if with_tags else b"") + pack("H", at + len(body))
        body += table
    return head + body


def gsub():
    features = [(b"fina", 1), (b"init", 2), (b"liga", 0), (b"medi", 3)]
    lookups = [
        lookup(4, ligature("f", "i", "f_i")), lookup(1, single("beh", "beh.fina")),
        lookup(1, single("beh", "beh.init")), lookup(1, single("beh", "beh.medi")),
    ]

    def script(chosen):
        return pack("HH", 4, 0) + pack("HHH", 0, 0xFFFF, len(chosen)) + b"".join(pack("H", n) for n in chosen)

    scripts = listed([b"DFLT", b"arab"], [script([2]), script([0, 1, 2, 3])], True)
    named = listed([tag for tag, _ in features], [pack("HHH", 0, 1, number) for _, number in features], True)
    tables = listed([b""] * len(lookups), lookups, False)
    return pack("HHHHH", 1, 0, 10, 10 + len(scripts), 10 + len(scripts) + len(named)) + scripts + named + tables


def checksum(data):
    data += b"\0" * (-len(data) % 4)
    return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xFFFFFFFF


def font():
    outlines = [outline(box) for _, box in GLYPHS.values()]
    offsets = [sum(map(len, outlines[:n])) for n in range(len(outlines) + 1)]
    boxes = [box for _, box in GLYPHS.values() if box]
    edges = [f(b[i] for b in boxes) for i, f in ((0, min), (1, min), (2, max), (3, max))]
    tables = {
        "GSUB": gsub(), "cmap": cmap(), "glyf": b"".join(outlines),
        "head": pack("IIIIHH", 0x10000, 0x10000, 0, 0x5F0F3CF5, 3, UNITS) + bytes(16)
        + pack("hhhh", *edges) + pack("HHhhh", 0, 8, 2, 1, 0),
        "hhea": pack("Ihhh", 0x10000, ASCENDER, DESCENDER, 0) + pack("H", max(a for a, _ in GLYPHS.values()))
        + pack("hhh", 0, 0, edges[2]) + pack("hhh", 1, 0, 0) + bytes(8) + pack("hH", 0, len(GLYPHS)),
        "hmtx": b"".join(pack("Hh", advance, box[0] if box else 0) for advance, box in GLYPHS.values()),
        "kern": kern(), "loca": b"".join(pack("I", offset) for offset in offsets),
        "maxp": pack("IHHHHHHHHHHHHHH", 0x10000, len(GLYPHS), 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
        "post": pack("IIhhIIIII", 0x30000, 0, 0, 0, 0, 0, 0, 0, 0),
    }
    head, body, at = b"", b"", 12 + 16 * len(tables)
    for tag, data in tables.items():
        head += tag.encode() + pack("III", checksum(data), at + len(body), len(data))
        body += data + b"\0" * (-len(data) % 4)
    count = len(tables)
    search = 16 * (1 << (count.bit_length() - 1))
    return pack("IHHHH", 0x10000, count, search, count.bit_length() - 1, 16 * count - search) + head + body


if __name__ == "__main__":
    folder = Path(__file__).resolve().parent.parent / "fonts"
    folder.mkdir(exist_ok=True)
    (folder / "boxes.ttf").write_bytes(font())
