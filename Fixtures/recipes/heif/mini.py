#!/usr/bin/env python3
"""Writes a HEIF or AVIF file again, with a 'mini' box in the place of 'meta' and 'mdat'.

usage: mini.py [--draft later|earlier] [--types] [--gain-map] [--light] [--xmp TEXT] < IN > OUT

IN has one coded picture, perhaps with alpha, Exif, a profile and a turn by 'irot'; everything else in it is left out.

--draft     which draft of the syntax: the later one (the default) has a matrix in every explicit colour description and
            a flag for gain maps of the picture's size
--types     names the item type and the box of the configuration, which go before the brand
--gain-map  adds a gain map, which is the picture once more, with metadata of four bytes and a profile of 132
--light     adds each of the six light properties, all zero

ISO/IEC 23008-12 annex O.
"""
import argparse, struct, sys

options = argparse.ArgumentParser()
options.add_argument("--draft", choices=["later", "earlier"], default="later")
options.add_argument("--types", action="store_true")
options.add_argument("--gain-map", action="store_true")
options.add_argument("--light", action="store_true")
options.add_argument("--xmp", default="")
options = options.parse_args()
data = sys.stdin.buffer.read()


def boxes(at, end):
    while at < end:
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind.decode("latin1"), at + 8, at + size
        at += size


def find(path, at=0, end=len(data)):
    for name in path.split("/"):
        at, end = next((start, stop) for kind, start, stop in boxes(at, end) if kind == name)
        at += {"meta": 4, "iinf": 6, "iref": 4}.get(name, 0)
    return at, end


def number(at, count):
    return int.from_bytes(data[at:at + count], "big")


# What the boxes say, by item.
types, places, properties, links = {}, {}, {}, []
for kind, at, end in boxes(*find("meta/iinf")):
    types[number(at + 4, 2)] = data[at + 8:at + 12].decode()
at, end = find("meta/iloc")
offsets, lengths, bases = data[at + 4] >> 4, data[at + 4] & 15, data[at + 5] >> 4
extra = 2 * data[at]
inline = find("meta/idat")[0] if any(kind == "idat" for kind, _, _ in boxes(*find("meta"))) else None
assert extra < 4 and data[at + 5] & 15 == 0
at += 8
while at < end:
    item = number(at, 2)
    method = number(at + 2, extra)
    at += extra
    base = number(at + 4, bases) + (inline if method == 1 else 0)
    place = at + 6 + bases
    assert number(at + 4 + bases, 2) == 1, "one extent an item"
    start = base + number(place, offsets)
    places[item] = data[start:start + number(place + offsets, lengths)]
    at = place + offsets + lengths
all_properties = [(kind, data[at:end]) for kind, at, end in boxes(*find("meta/iprp/ipco"))]
at, end = find("meta/iprp/ipma")
assert data[at + 3] == 0
at += 8
while at < end:
    count = data[at + 2]
    properties[number(at, 2)] = [all_properties[(i & 127) - 1] for i in data[at + 3:at + 3 + count]]
    at += 3 + count
try:
    for kind, at, end in boxes(*find("meta/iref")):
        links.append((kind, number(at, 2), number(at + 4, 2)))
except StopIteration:
    pass
primary = number(find("meta/pitm")[0] + 4, 2)


def linked(kind, item_type=None):
    found = (a for k, a, b in links if k == kind and b == primary and item_type in (None, types[a]))
    return next(found, None)


def having(item, kind):
    return [payload for name, payload in properties.get(item, []) if name == kind]


alpha = linked("auxl")
config_type = {"av01": "av1C", "hvc1": "hvcC"}[types[primary]]
config = having(primary, config_type)[0]
alpha_config = having(alpha, config_type)[0] if alpha else b""
if alpha_config == config:
    alpha_config = b""
exif_item = linked("cdsc", "Exif")
exif = places[exif_item][4:] if exif_item else b""
if exif:
    exif = exif[struct.unpack(">I", places[exif_item][:4])[0]:]
profile = next((c[4:] for c in having(primary, "colr") if c[:4] in (b"prof", b"rICC")), b"")
points = next((c[4:] for c in having(primary, "colr") if c[:4] == b"nclx"), None)
width, height = struct.unpack(">II", having(primary, "ispe")[0][4:])
orientation = {0: 1, 1: 8, 2: 3, 3: 6}[having(primary, "irot")[0][0] if having(primary, "irot") else 0]
if config_type == "av1C":
    chroma = 0 if config[2] & 16 else {3: 1, 2: 2, 0: 3}[config[2] >> 2 & 3]
    depth = 8 if not config[2] & 64 else 12 if config[2] & 32 else 10
else:
    chroma, depth = config[16] & 3, 8 + (config[17] & 7)
primaries, transfer, matrix = struct.unpack(">HHH", points[:6]) if points else (2, 2, 6)
# Without code points libheif takes the full range.
full = points[6] >> 7 if points else 1
usual = (2, 2) if profile else (1, 13)
explicit = (primaries, transfer, matrix) != usual + (2 if chroma == 0 else 6,)
premultiplied = any(kind == "prem" and a == primary for kind, a, _ in links)
samples, alpha_samples = places[primary], places[alpha] if alpha else b""
xmp = options.xmp.encode()
gain_map = options.gain_map
tone_profile, gain_metadata = (bytes(132), b"gain") if gain_map else (b"", b"")

fields = []


def put(value, count):
    fields.append(format(value, "0%db" % count) if count else "")


def flag(value):
    put(1 if value else 0, 1)


hdr = gain_map or options.light
put(0, 2)
for value in (options.types, False, full, alpha, explicit, hdr, profile, exif, xmp):
    flag(value)
put(chroma, 2)
put(orientation - 1, 3)
side = 15 if max(width, height) > 128 else 7
flag(side == 15)
put(width - 1, side)
put(height - 1, side)


def put_chroma_place():
    put(0, {1: 2, 2: 1}.get(chroma, 0))


put_chroma_place()
flag(depth > 8)
if depth > 8:
    put(depth - 9, 3)
if alpha:
    flag(premultiplied)
if explicit:
    put(primaries, 8)
    put(transfer, 8)
    if chroma or options.draft == "later":
        put(matrix, 8)
if options.types:
    for name in (types[primary], config_type):
        put(int.from_bytes(name.encode(), "big"), 32)


def put_light():
    for _ in range(6):
        flag(options.light)
    if options.light:
        put(0, 32 + 192)
        put(0b00111100, 8)
        put(0, 6 * 32 + 3 * 32 + 64 + 128 + 32)


if hdr:
    flag(gain_map)
    if gain_map:
        if options.draft == "later":
            flag(True)
        else:
            put(width - 1, side)
            put(height - 1, side)
        put(matrix, 8)
        flag(full)
        put(chroma, 2)
        put_chroma_place()
        flag(False)
        flag(depth > 8)
        if depth > 8:
            put(depth - 9, 3)
        flag(True)
        flag(True)
        put(0x010D06, 24)
        flag(True)
    put_light()
    if gain_map:
        put_light()

metadata = [profile, tone_profile, gain_metadata, exif, xmp]
m = 20 if max(map(len, metadata)) > 1023 else 10
c = 12 if max(len(config), len(alpha_config)) > 7 else 3
d = 28 if max(len(samples), len(alpha_samples)) > 32767 else 15
if any(metadata):
    flag(m == 20)
flag(c == 12)
flag(d == 28)
if profile:
    put(len(profile) - 1, m)
if gain_map:
    put(len(tone_profile) - 1, m)
    put(len(gain_metadata), m)
    put(len(samples), d)
    put(0, c)
put(len(config), c)
put(len(samples) - 1, d)
if alpha:
    put(len(alpha_samples), d)
    put(len(alpha_config), c)
if exif or xmp:
    flag(False)
for chunk in (exif, xmp):
    if chunk:
        put(len(chunk) - 1, m)
bits = "".join(fields)
bits += "0" * (-len(bits) % 8)
payload = int(bits, 2).to_bytes(len(bits) // 8, "big") + config + alpha_config + profile + tone_profile
payload += gain_metadata + alpha_samples + (samples if gain_map else b"") + samples + exif + xmp
brand = {"av01": b"avif", "hvc1": b"heic"}[types[primary]]
sys.stdout.buffer.write(struct.pack(">I", 16) + b"ftypmif3" + brand)
sys.stdout.buffer.write(struct.pack(">I", 8 + len(payload)) + b"mini" + payload)
