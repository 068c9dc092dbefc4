#!/usr/bin/env python3
"""Puts single images together as the tiles of a grid.

usage: grid.py ROWS COLUMNS WIDTH HEIGHT OUT TILE... [--alpha TILE...] [--turn N] [--mirror AXIS] [--crop W H X Y]

TILE    a HEIC or AVIF file of one coded image without transforms; all tiles have one size and one configuration
--alpha tiles of an alpha channel, as a grid of the same shape
--turn, --mirror, --crop    'irot', 'imir' and 'clap' of the grid, in the order of the command line
"""
import struct, sys


def boxes(data, start, end):
    while start + 8 <= end:
        size, kind = struct.unpack(">I4s", data[start:start + 8])
        yield kind, start + 8, start + size
        start += size


def box(kind, *parts):
    body = b"".join(parts)
    return struct.pack(">I", 8 + len(body)) + kind + body


def full(kind, *parts, version=0, flags=0):
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def single(path):
    """The coded bytes, the type of the item, and the boxes that describe it."""
    data = open(path, "rb").read()
    top = {kind: (start, end) for kind, start, end in boxes(data, 0, len(data))}
    meta = {kind: (start, end) for kind, start, end in boxes(data, top[b"meta"][0] + 4, top[b"meta"][1])}
    start, end = meta[b"iprp"]
    inner = {kind: (a, b) for kind, a, b in boxes(data, start, end)}
    found = [(kind, data[a - 8:b]) for kind, a, b in boxes(data, *inner[b"ipco"])
             if kind in (b"hvcC", b"av1C", b"ispe", b"pixi", b"colr")]
    # Padded images have a second size; the first item is the coded one.
    seen, properties = set(), []
    for kind, whole in found:
        if kind not in seen:
            properties.append(whole)
        seen.add(kind)
    content = data[top[b"mdat"][0]:top[b"mdat"][1]]
    return content, b"hvc1" if b"hvcC" in seen else b"av01", properties


def main():
    words = sys.argv[1:]
    rows, columns, width, height = map(int, words[:4])
    out, words = words[4], words[5:]
    colors, alphas, transforms, target = [], [], [], None
    target = colors
    while words:
        word = words.pop(0)
        if word == "--alpha":
            target = alphas
        elif word == "--turn":
            transforms.append(box(b"irot", bytes([int(words.pop(0))])))
        elif word == "--mirror":
            transforms.append(box(b"imir", bytes([int(words.pop(0))])))
        elif word == "--crop":
            w, h, x, y = (int(words.pop(0)) for _ in range(4))
            # The offset is that of the centers, here in halves.
            fields = [(w, 1), (h, 1), (2 * x + w - width, 2), (2 * y + h - height, 2)]
            transforms.append(box(b"clap", *(struct.pack(">iI", a, b) for a, b in fields)))
        else:
            target.append(single(word))

    properties, data, items, references = [], b"", [], []

    def number(whole):
        if whole not in properties:
            properties.append(whole)
        return properties.index(whole) + 1

    canvas = full(b"ispe", struct.pack(">II", width, height))

    def grid(identifier, tiles, first, more):
        rule = struct.pack(">BBBBII", 0, 1, rows - 1, columns - 1, width, height)
        items.append((identifier, b"grid", rule, [number(p) for p in [canvas] + more + transforms]))
        for index, (content, kind, described) in enumerate(tiles):
            items.append((first + index, kind, content, [number(p) for p in described]))
        references.append(box(b"dimg", struct.pack(">HH", identifier, len(tiles)),
                              *(struct.pack(">H", first + index) for index in range(len(tiles)))))

    # libavif wants the depth of the samples for the grid, too.
    kept = (b"colr", b"pixi") if colors[0][1] == b"av01" else (b"colr",)
    grid(1, colors, 10, [p for p in colors[0][2] if p[4:8] in kept])
    if alphas:
        kind = full(b"auxC", b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0")
        grid(2, alphas, 10 + len(colors), [kind] + [p for p in alphas[0][2] if p[4:8] == b"pixi" and b"pixi" in kept])
        references.append(box(b"auxl", struct.pack(">HHH", 2, 1, 1)))

    brand = b"avif" if colors[0][1] == b"av01" else b"heic"
    head = box(b"ftyp", brand, bytes(4), b"mif1", brand)

    def meta(start):
        places, at = b"", start
        for identifier, _, content, _ in items:
            places += struct.pack(">HHHII", identifier, 0, 1, at, len(content))
            at += len(content)
        return full(
            b"meta", full(b"hdlr", bytes(4), b"pict", bytes(13)), full(b"pitm", struct.pack(">H", 1)),
            full(b"iloc", struct.pack(">HH", 0x4400, len(items)), places),
            full(b"iinf", struct.pack(">H", len(items)), *(
                full(b"infe", struct.pack(">HH", identifier, 0), kind, b"\0", version=2, flags=identifier > 1)
                for identifier, kind, _, _ in items)),
            full(b"iref", *references),
            box(b"iprp", box(b"ipco", *properties), full(b"ipma", struct.pack(">I", len(items)), *(
                struct.pack(">HB", identifier, len(numbers)) + bytes(0x80 | n for n in numbers)
                for identifier, _, _, numbers in sorted(items)))))

    data = b"".join(content for _, _, content, _ in items)
    size = len(meta(0))
    with open(out, "wb") as file:
        file.write(head + meta(len(head) + size + 8) + box(b"mdat", data))


main()
