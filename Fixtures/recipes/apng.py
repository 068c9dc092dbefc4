#!/usr/bin/env python3
"""Makes apng/ and its entries in manifest.json: chunk by chunk, so that every pixel is known without a decoder.

    python3 Fixtures/recipes/apng.py
"""

import hashlib
import struct
import sys
import zlib

sys.dont_write_bytecode = True

import containers  # noqa: E402
import ledger  # noqa: E402

WIDTH, HEIGHT = 24, 16
# Adam7 (PNG 3rd edition, 8.2): first column and row, steps.
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def color(x, y, turn):
    """Red grows to the right, green downwards; blue tells frames apart."""
    return (x * 10, y * 15, 80 * turn)


def paeth(a, b, c):
    pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def filtered(rows, pixel):
    """Rows with the filters 0 ... 4 in turn."""
    out, prior = b"", bytes(len(rows[0]))
    for number, row in enumerate(rows):
        kind = number % 5
        out += bytes([kind])
        for i, value in enumerate(row):
            a, b, c = row[i - pixel] if i >= pixel else 0, prior[i], prior[i - pixel] if i >= pixel else 0
            out += bytes([(value - (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) % 256])
        prior = row
    return out


def control(number, rect, delay=(1, 10), dispose=0, blend=0):
    x, y, width, height = rect
    return containers.png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, x, y, *delay, dispose, blend))


def data(number, stream, pieces=1):
    """fdAT, in as many pieces as wanted; the numbers go on from `number`."""
    step = -(-len(stream) // pieces)
    parts = [stream[i:i + step] for i in range(0, len(stream), step)]
    return b"".join(containers.png_chunk(b"fdAT", struct.pack(">I", number + i) + p) for i, p in enumerate(parts))


def begin(depth, kind, frames, plays, interlaced=0):
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, kind, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + containers.png_chunk(b"IHDR", header)
            + containers.png_chunk(b"acTL", struct.pack(">II", frames, plays)))


END = containers.png_chunk(b"IEND", b"")
WHOLE = (0, 0, WIDTH, HEIGHT)


def rgb(turn, rect=WHOLE):
    x0, y0, width, height = rect
    rows = [b"".join(bytes(color(x0 + x, y0 + y, turn)) for x in range(width)) for y in range(height)]
    return zlib.compress(filtered(rows, 3))


def three_frames():
    part = (8, 4, 10, 8)
    file = begin(8, 2, 3, 0) + control(0, WHOLE, (1, 25)) + containers.png_chunk(b"IDAT", rgb(0))
    file += control(1, part, (3, 100), dispose=1) + data(2, rgb(1, part), 3)
    file += control(5, WHOLE, (5, 0), dispose=2) + data(6, rgb(2)) + END
    pixels = [color(x, y, 0) + (255,) for y in range(HEIGHT) for x in range(WIDTH)]
    return file, pixels, {"frame_count": 3, "has_alpha": True, "bit_depth": 8}


def hidden_default():
    def rgba(turn):
        return [color(x, y, turn) + (x * 11,) for y in range(HEIGHT) for x in range(WIDTH)]

    def stream(pixels):
        rows = [b"".join(map(bytes, pixels[y * WIDTH:(y + 1) * WIDTH])) for y in range(HEIGHT)]
        return zlib.compress(filtered(rows, 4))

    file = begin(8, 6, 2, 7) + containers.png_chunk(b"IDAT", stream(rgba(3)))
    file += control(0, WHOLE, blend=1) + data(1, stream(rgba(0)), 2)
    file += control(3, WHOLE, blend=1) + data(4, stream(rgba(1))) + END
    return file, rgba(0), {"frame_count": 2, "has_alpha": True, "bit_depth": 8}


def palette():
    entries = [(i * 17, 255 - i * 17, i * 3) for i in range(16)]
    alphas = [0, 60, 120]

    def index(x, y, turn):
        return (x + 2 * y + 5 * turn) % 16

    def stream(turn):
        out = b""
        for left, top, dx, dy in PASSES:
            rows = []
            for y in range(top, HEIGHT, dy):
                values = [index(x, y, turn) for x in range(left, WIDTH, dx)]
                values += [0] * (len(values) % 2)
                rows.append(bytes(values[i] << 4 | values[i + 1] for i in range(0, len(values), 2)))
            out += filtered(rows, 1)
        return zlib.compress(out)

    file = begin(4, 3, 2, 1, 1) + containers.png_chunk(b"PLTE", bytes(sum(entries, ())))
    file += containers.png_chunk(b"tRNS", bytes(alphas))
    file += control(0, WHOLE) + containers.png_chunk(b"IDAT", stream(0)) + control(1, WHOLE, blend=1)
    file += data(2, stream(1), 4) + END
    pixels = [entries[i] + ((alphas + [255] * 13)[i],)
              for i in (index(x, y, 0) for y in range(HEIGHT) for x in range(WIDTH))]
    return file, pixels, {"frame_count": 2, "has_alpha": True, "bit_depth": 4}


FILES = {
    "three-frames.png": ("a frame in three pieces that covers a part and is cleared, delays with denominators",
                         three_frames),
    "hidden-default-image.png": ("a default image that is no frame, and two frames with alpha", hidden_default),
    "interlaced-palette-with-transparency.png": ("4 bits an index, seven passes, tRNS for all frames", palette),
}


def main():
    entries = ledger.load()
    for name, (shows, make) in FILES.items():
        file, pixels, expect = make()
        path = f"apng/{name}"
        (ledger.ROOT / path).write_bytes(file)
        rgba = b"".join(bytes(p) if p[3] else bytes(4) for p in pixels)
        entries[path] = {
            **ledger.measure(path), "format": "apng", "origin": {"generated": "recipes/apng.py"}, "license": "CC0-1.0",
            "shows": shows, "expect": {"width": WIDTH, "height": HEIGHT, **expect,
                                       "pixel_sha256": hashlib.sha256(rgba).hexdigest(), "digest_by": "python"}}
    ledger.save(entries)


main()
