#!/usr/bin/env python3
"""Makes classics/ and its entries in manifest.json, byte by byte, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/classics.py

The digests are those of the pixels that went in.
"""

import hashlib
import struct
import sys

sys.dont_write_bytecode = True

import ledger  # noqa: E402

WIDTH, HEIGHT = 13, 7
ORIGIN = "recipes/classics.py"
XS, YS = range(WIDTH), range(HEIGHT)


def color(x, y):
    return (x * 19, y * 36, (x * 7 + y * 29) % 256)


def see_through(x, y):
    return (*color(x, y), x * 20)


def gray(x, y):
    return ((x * 19 + y * 3) % 256,) * 3


def bit(x, y):
    return (x * y + x // 3) % 2


def black_and_white(x, y):
    return (255 * bit(x, y),) * 3


def index(x, y, colors):
    return (x + 3 * y) % colors


def palette(colors):
    return [(value * 255 // (colors - 1), 255 - value * 255 // (colors - 1), value * 37 % 256) for value in range(colors)]


def rgba(pixel):
    return b"".join(
        bytes(values) if values[3] else bytes(4) for values in ((*pixel(x, y), 255)[:4] for y in YS for x in XS))


# QOI: one chunk of every kind.

def qoi_seen(pixel):
    return (pixel[0] * 3 + pixel[1] * 5 + pixel[2] * 7 + pixel[3] * 11) % 64


def few(x, y):
    """Runs, small steps, larger steps, earlier colors and new ones."""
    if y < 2:
        return (0, 0, 0)
    if y == 2:
        return (x, 2 * x, x)
    if y == 3:
        return (x * 9 % 256, x * 10 % 256, x * 12 % 256)
    return color(x % 3, y)


def few_and_alpha(x, y):
    return (*few(x, y), 255 if y < 5 else 30 * x % 256)


def qoi(pixel, channels):
    out = b"qoif" + struct.pack(">IIBB", WIDTH, HEIGHT, channels, 0)
    seen, previous, run = [(0, 0, 0, 0)] * 64, (0, 0, 0, 255), 0
    for values in ((*pixel(x, y), 255)[:4] for y in YS for x in XS):
        if values == previous:
            run += 1
            continue
        while run:
            out += bytes([0xC0 | min(run, 62) - 1])
            run -= min(run, 62)
        steps = [(a - b + 128) % 256 - 128 for a, b in zip(values, previous)]
        near = [steps[0] - steps[1], steps[2] - steps[1]]
        if seen[qoi_seen(values)] == values:
            out += bytes([qoi_seen(values)])
        elif steps[3]:
            out += b"\xff" + bytes(values)
        elif all(-2 <= step <= 1 for step in steps[:3]):
            out += bytes([0x40 | steps[0] + 2 << 4 | steps[1] + 2 << 2 | steps[2] + 2])
        elif -32 <= steps[1] <= 31 and all(-8 <= step <= 7 for step in near):
            out += bytes([0x80 | steps[1] + 32, near[0] + 8 << 4 | near[1] + 8])
        else:
            out += b"\xfe" + bytes(values[:3])
        seen[qoi_seen(values)] = previous = values
    while run:
        out += bytes([0xC0 | min(run, 62) - 1])
        run -= min(run, 62)
    return out + bytes(7) + b"\1"


# TGA: always with a footer, because without one the name decides.

def tga(kind, depth, body, attributes=0, colors=(), color_bits=24, meaning=None):
    head = struct.pack("<BBBHHBHHHHBB", 0, 1 if colors else 0, kind, 0, len(colors), color_bits if colors else 0, 0, 0,
                       WIDTH, HEIGHT, depth, attributes)
    file = head + b"".join(bytes(reversed(value)) for value in colors) + body
    area = 0
    if meaning is not None:
        area = len(file)
        file += struct.pack("<H", 495) + bytes(492) + bytes([meaning])
    return file + struct.pack("<II", area, 0) + b"TRUEVISION-XFILE.\0"


def bgr(pixel, x, y):
    values = pixel(x, y)
    return bytes(values[2::-1]) + bytes(values[3:])


def tga_runs(pixel):
    """From the bottom; the last pixel of a row and the first of the next one share a packet."""
    pixels = [bgr(pixel, x, y) for y in reversed(YS) for x in XS]
    out = b""
    for start in range(0, len(pixels), 5):
        piece = pixels[start:start + 5]
        if all(value == piece[0] for value in piece):
            out += bytes([0x80 | len(piece) - 1]) + piece[0]
        else:
            out += bytes([len(piece) - 1]) + b"".join(piece)
    return out


def five(x, y):
    return [value * 31 // 255 for value in color(x, y)]


def five_back(x, y):
    return tuple((value * 510 + 31) // 62 for value in five(x, y))


def tga_files():
    yield ("bottom-up", tga(2, 24, b"".join(bgr(color, x, y) for y in reversed(YS) for x in XS)),
           "24 bits from the bottom", color)
    yield ("right-to-left", tga(2, 24, b"".join(bgr(color, x, y) for y in YS for x in reversed(XS)), 0x30),
           "24 bits from the top right", color)
    yield "runs-across-rows", tga(10, 24, tga_runs(few)), "packets that cross the end of a row", few
    yield ("alpha", tga(2, 32, b"".join(bgr(see_through, x, y) for y in YS for x in XS), 0x28, meaning=3),
           "32 bits whose alpha the extension area declares", see_through)
    yield ("no-alpha", tga(2, 32, b"".join(bgr(see_through, x, y) for y in YS for x in XS), 0x28, meaning=0),
           "32 bits whose fourth byte has no meaning", color)
    yield ("palette", tga(1, 8, bytes(index(x, y, 16) for y in YS for x in XS), 0x20, palette(16)),
           "a palette of 16 colors", lambda x, y: palette(16)[index(x, y, 16)])
    yield ("five-bits", tga(2, 16, b"".join(struct.pack(
        "<H", red << 10 | green << 5 | blue) for red, green, blue in (five(x, y) for y in YS for x in XS)), 0x20),
        "16 bits, five for each color", five_back)
    yield "gray", tga(3, 8, bytes(gray(x, y)[0] for y in YS for x in XS), 0x20), "8 bits of gray", gray


# PCX.

def pcx_runs(row):
    out = b""
    at = 0
    while at < len(row):
        count = 1
        while at + count < len(row) and count < 63 and row[at + count] == row[at]:
            count += 1
        if count > 1 or row[at] >= 0xC0:
            out += bytes([0xC0 | count])
        out += bytes([row[at]])
        at += count
    return out


def pcx(bits, planes, rows, row_bytes, colors=(), tail=b"", version=5):
    head = struct.pack("<BBBBHHHHHH", 10, version, 1, bits, 0, 0, WIDTH - 1, HEIGHT - 1, 72, 72)
    head += b"".join(bytes(value) for value in colors).ljust(48, b"\0") + struct.pack("<BBHH", 0, planes, row_bytes, 1)
    return head.ljust(128, b"\0") + b"".join(pcx_runs(row) for row in rows) + tail


def bits_of(row, depth=1, width=None):
    text = "".join(f"{value:0{depth}b}" for value in row)
    size = width or (len(text) + 7) // 8
    return int(text.ljust(size * 8, "0"), 2).to_bytes(size, "big")


def pcx_files():
    yield ("planes", pcx(8, 3, [b"".join(bytes(color(x, y)[channel] for x in XS) + b"\0" for channel in range(3))
                                for y in YS], 14), "three planes of 8 bits", color)
    rows = [bytes(index(x, y, 256) for x in XS) + b"\0" for y in YS]
    tail = b"\x0c" + b"".join(bytes(value) for value in palette(256))
    yield "palette", pcx(8, 1, rows, 14, tail=tail), "a palette behind the pixels", lambda x, y: palette(256)[index(x, y, 256)]
    rows = [b"".join(bits_of([index(x, y, 16) >> plane & 1 for x in XS]) for plane in range(4)) for y in YS]
    yield ("sixteen-colors", pcx(1, 4, rows, 2, palette(16)), "four planes of one bit",
           lambda x, y: palette(16)[index(x, y, 16)])
    yield "one-bit", pcx(1, 1, [bits_of([bit(x, y) for x in XS]) for y in YS], 2), "black and white", black_and_white


def dcx_files():
    pages = [(data, pixel) for _, data, _, pixel in pcx_files()][1:]
    start = 4 + 4 * (len(pages) + 1)
    starts = [start + sum(len(data) for data, _ in pages[:at]) for at in range(len(pages))]
    head = struct.pack(f"<{len(pages) + 2}I", 987654321, *starts, 0)
    yield "pages", head + b"".join(data for data, _ in pages), "three pages, the first with a palette at its end", pages[0][1]


# SGI.

def sgi(storage, sample, channels, body):
    return (struct.pack(">HBBHHHHII", 474, storage, sample, 3, WIDTH, HEIGHT, channels, 0, 255)).ljust(512, b"\0") + body


def sgi_runs(values):
    return bytes([0x80 | 5]) + values[:5] + b"".join(bytes([1, value]) for value in values[5:]) + b"\0"


def sgi_files():
    rows = [sgi_runs(bytes(color(x, y)[channel] for x in XS)) for channel in range(3) for y in reversed(YS)]
    starts, at = [], 512 + 8 * len(rows)
    for row in rows:
        starts.append(at)
        at += len(row)
    table = b"".join(struct.pack(">I", value) for value in starts + [len(row) for row in rows])
    yield "runs", sgi(1, 1, 3, table + b"".join(rows)), "three planes in runs", color
    body = b"".join(struct.pack(">H", see_through(x, y)[channel] * 257) for channel in range(4)
                    for y in reversed(YS) for x in XS)
    yield "sixteen-bits", sgi(0, 2, 4, body), "16 bits with alpha", see_through


# Sun raster.

def sun(depth, body, kind=1, colors=()):
    table = b"".join(bytes(value[channel] for value in colors) for channel in range(3))
    return struct.pack(">IIIIIIII", 0x59A66A95, WIDTH, HEIGHT, depth, len(body), kind, 1 if colors else 0,
                       len(table)) + table + body


def sun_runs(data):
    out, at = b"", 0
    while at < len(data):
        count = 1
        while at + count < len(data) and count < 256 and data[at + count] == data[at]:
            count += 1
        if count > 2:
            out += bytes([0x80, count - 1, data[at]])
        else:
            out += b"".join(b"\x80\0" if data[at] == 0x80 else bytes([data[at]]) for _ in range(count))
        at += count
    return out


def sun_files():
    yield ("blue-first", sun(24, b"".join(b"".join(bgr(color, x, y) for x in XS) + b"\0" for y in YS)),
           "24 bits, blue first", color)
    yield ("red-first", sun(32, b"".join(b"\x09" + bytes(color(x, y)) for y in YS for x in XS), 3),
           "32 bits, red first, behind an unused byte", color)
    rows = b"".join(bytes(index(x, y, 200) for x in XS) + b"\0" for y in YS)
    yield ("palette-in-runs", sun(8, sun_runs(rows), 2, palette(200)), "a palette, packed",
           lambda x, y: palette(200)[index(x, y, 200)])
    yield ("one-bit", sun(1, b"".join(bits_of([1 - bit(x, y) for x in XS]) for y in YS)), "black and white",
           black_and_white)


# Text.

def xbm_files():
    numbers = [sum((1 - bit(x, y)) << (x - start) for x in XS if start <= x < start + 8) for y in YS for start in (0, 8)]
    text = f"#define a_width {WIDTH}\n#define a_height {HEIGHT}\n#define a_x_hot 1\n#define a_y_hot 2\n"
    text += "static char a_bits[] = {\n" + ", ".join(f"0x{value:02X}" for value in numbers) + "};\n"
    yield "hot-spot", text.encode(), "black and white with a hot spot", black_and_white


def xpm_files():
    names = [("None", (0, 0, 0, 0)), ("#FF8000", (255, 128, 0)), ("light sea green", (32, 178, 170)), ("gray50", (127,) * 3),
             ("#FFFF00008080", (255, 0, 128))]

    def pixel(x, y):
        return names[index(x, y, 5)][1]
    lines = [f'"{WIDTH} {HEIGHT} 5 2"'] + [f'"{letter}. s name{letter} m white c {name}"' for letter, (name, _) in zip("abcde", names)]
    lines += ['"' + "".join("abcde"[index(x, y, 5)] + "." for x in XS) + '"' for y in YS]
    yield "names", ("/* XPM */\nstatic char *a[] = {\n/* colors */\n" + ",\n".join(lines) + "};\n").encode(), \
        "names of colors, transparency, two characters a pixel", pixel


def main():
    known = {path: entry for path, entry in ledger.load().items() if not path.startswith("classics/") or path.endswith(".dds")}
    (ledger.ROOT / "classics" / "bad").mkdir(parents=True, exist_ok=True)

    def put(path, kind, data, shows, **result):
        (ledger.ROOT / path).write_bytes(data)
        known[path] = {**ledger.measure(path), "format": kind, "origin": {"generated": ORIGIN}, "license": "CC0-1.0",
                       "shows": shows, **result}

    qoi_files = [("every-chunk", qoi(few, 3), "chunks of every kind but alpha", few),
                 ("alpha", qoi(few_and_alpha, 4), "chunks of every kind", few_and_alpha)]
    for kind, ending, entries in (("qoi", "qoi", qoi_files), ("tga", "tga", tga_files()), ("pcx", "pcx", pcx_files()), ("dcx", "dcx", dcx_files()),
                                  ("sgi", "sgi", sgi_files()), ("ras", "ras", sun_files()), ("xbm", "xbm", xbm_files()),
                                  ("xpm", "xpm", xpm_files())):
        for name, data, shows, pixel in entries:
            put(f"classics/{name}.{ending}", kind, data, shows, expect={
                "width": WIDTH, "height": HEIGHT, "frame_count": 1,
                "has_alpha": any(len(pixel(x, 0)) == 4 for x in XS) or kind == "xpm",
                "pixel_sha256": hashlib.sha256(rgba(pixel)).hexdigest(), "digest_by": "python"})
    put("classics/bad/rows-missing.qoi", "qoi", qoi(few, 3)[:-20], "the last chunks are missing", error="truncated")
    put("classics/bad/seven-channels.qoi", "qoi", qoi(few, 7), "seven channels", error="corrupt")
    put("classics/bad/wide.qoi", "qoi", b"qoif" + struct.pack(">IIBB", 2**32 - 1, 2**32 - 1, 4, 0),
        "sixteen exapixels in 14 bytes", error=["corrupt", "limitExceeded"])
    put("classics/bad/huffman.tga", "tga", tga(32, 8, bytes(91), 0x20, palette(16)), "Huffman codes",
        error="unsupportedFeature")
    put("classics/bad/empty-rows.pcx", "pcx", pcx(8, 3, [], 0), "rows without bytes",
        error="corrupt")
    put("classics/bad/row-in-header.sgi", "sgi", sgi(1, 1, 1, bytes(200)), "rows that begin within the header", error="corrupt")
    put("classics/bad/nine-bits.ras", "ras", sun(9, bytes(200)), "9 bits per pixel", error="corrupt")
    put("classics/bad/bits-missing.xbm", "xbm", b"#define a_width 9\n#define a_height 9\nstatic char a_bits[] = { 1, 2 };\n",
        "bits are missing", error="truncated")
    put("classics/bad/unknown-color.xpm", "xpm", b'/* XPM */\nstatic char *a[] = {\n"1 1 1 1",\n"a c darkestgreen",\n"a"};\n',
        "a color that X does not know", error="unsupportedFeature")
    ledger.save(known)


main()
