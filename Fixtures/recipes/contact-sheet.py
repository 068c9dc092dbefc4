#!/usr/bin/env python3
"""Draws the contact sheet of README.md: one tile for each format that coderhost reads.

    Fixtures/recipes/contact-sheet.py [COMMAND]      COMMAND is the program, default .build/release/coderhost

The command decodes, scales and composites every tile; this script only arranges the tiles and draws the labels. The
command also writes the result, Sources/CoderHost/CoderHost.docc/Resources/contact-sheet.png. That folder is part of
the documentation, so the image has no entry in manifest.json.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RESULT = ROOT / "Sources/CoderHost/CoderHost.docc/Resources/contact-sheet.png"
LARGEST = 64 << 10

TILE = 108, 81
GAP = 14
# From the top of a tile to the top of its label, and the height of both.
LABEL_TOP = TILE[1] + 7
PITCH = TILE[0] + GAP, LABEL_TOP + 14 + GAP
BACKGROUND, INK = (0x1C, 0x21, 0x28), (0xE6, 0xE9, 0xED)
CHECKERS = (0x4A, 0x50, 0x58), (0x6A, 0x70, 0x78)

# label, file, number of frames, factor by which the stored size is enlarged; 0 scales the image to the tile
ROWS = [
    [
        ("JPEG", "images/photo.jpg", 1, 0), ("PNG", "images/rgba.png", 1, 3), ("WEBP", "images/photo.webp", 1, 0),
        ("HEIC", "heif/rotated-with-size-after-the-turn.heic", 1, 0), ("AVIF", "avif/grid-420.avif", 1, 0),
    ],
    [
        ("GIF", "images/three-frames.gif", 3, 2), ("APNG", "apng/three-frames.png", 3, 3),
        ("AWEBP", "images/three-frames.webp", 3, 2), ("FARBFELD", "images/rgba.ff", 1, 3),
        ("PAM", "images/graya.pam", 1, 3),
    ],
]

# 5 by 7 pixels: the hexadecimal bytes of seven rows from the top, 5 bits each.
FONT = {
    "A": "0e11111f111111", "B": "1e11111e11111e", "C": "0e11101010110e", "D": "1e11111111111e", "E": "1f10101e10101f",
    "F": "1f10101e101010", "G": "0e11101711110f", "H": "1111111f111111", "I": "0e04040404040e", "J": "0702020202120c",
    "L": "1010101010101f", "M": "111b1515111111", "N": "11191513111111", "P": "1e11111e101010", "R": "1e11111e141211",
    "V": "11111111110a04", "W": "11111115151b11",
}


def decode(command, path, *options):
    """(width, height, rows of (r, g, b, a) with 8 bits) as the command decodes a file."""
    words = [command, "convert", ROOT / "Fixtures" / path, "-o", "-", "-f", "pam", "--strip", "all", *options]
    data = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE).stdout
    head, body = data.split(b"ENDHDR\n", 1)
    fields = dict(line.split(b" ", 1) for line in head.split(b"\n")[1:] if b" " in line)
    width, height, depth, most = (int(fields[key]) for key in (b"WIDTH", b"HEIGHT", b"DEPTH", b"MAXVAL"))
    samples = body[::2] if most > 255 else body
    rows = []
    for y in range(height):
        pixels = [samples[(y * width + x) * depth:(y * width + x + 1) * depth] for x in range(width)]
        color = [pixel[:3] if depth >= 3 else pixel[:1] * 3 for pixel in pixels]
        rows.append([(*rgb, pixel[-1] if depth in (2, 4) else 255) for rgb, pixel in zip(color, pixels)])
    return width, height, rows


class Sheet:
    """RGB pixels of 8 bits."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.bytes = bytearray(bytes(BACKGROUND) * (width * height))

    def put(self, x, y, color):
        at = 3 * (y * self.width + x)
        self.bytes[at:at + 3] = bytes(color)

    def fill(self, left, top, width, height, color):
        for y in range(top, top + height):
            for x in range(left, left + width):
                self.put(x, y, color)

    def draw(self, image, left, top):
        """An image in front of a chessboard, which transparent pixels let through."""
        for y, row in enumerate(image[2]):
            for x, (*rgb, alpha) in enumerate(row):
                under = CHECKERS[(x // 6 + y // 6) % 2]
                mixed = [(over * alpha + below * (255 - alpha) + 127) // 255 for over, below in zip(rgb, under)]
                self.put(left + x, top + y, mixed)

    def write(self, text, left, top):
        for index, letter in enumerate(text):
            for y, bits in enumerate(bytes.fromhex(FONT[letter])):
                for x in range(5):
                    if bits >> (4 - x) & 1:
                        self.fill(left + 12 * index + 2 * x, top + 2 * y, 2, 2, INK)

    def ppm(self):
        return b"P6\n%d %d\n255\n" % (self.width, self.height) + self.bytes


def add_tile(sheet, command, left, top, file, count, factor):
    """One image in the middle of its tile, or the frames of an animation from corner to corner."""
    if not factor:
        width, height, _ = image = decode(command, file, "--resize", "%dx%d" % TILE, "--fit", "cover")
        sheet.draw(image, left + (TILE[0] - width) // 2, top + (TILE[1] - height) // 2)
        return
    width, height, _ = decode(command, file, "--frame", "0")
    size = width * factor, height * factor
    for index in range(count):
        image = decode(command, file, "--frame", str(index), "--resize", "%dx%d" % size, "--enlarge",
                       "--filter", "nearest")
        x, y = ((room - side) * (index if count > 1 else 1) // (count - 1 if count > 1 else 2)
                for room, side in zip(TILE, size))
        if index:
            sheet.fill(left + x - 2, top + y - 2, size[0] + 2, size[1] + 2, BACKGROUND)
        sheet.draw(image, left + x, top + y)


def main():
    command = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build/release/coderhost").resolve()
    sheet = Sheet(GAP + PITCH[0] * max(map(len, ROWS)), GAP + PITCH[1] * len(ROWS))
    for row, tiles in enumerate(ROWS):
        for column, (label, file, count, factor) in enumerate(tiles):
            left, top = GAP + PITCH[0] * column, GAP + PITCH[1] * row
            add_tile(sheet, command, left, top, file, count, factor)
            sheet.write(label, left + (TILE[0] - 12 * len(label) + 2) // 2, top + LABEL_TOP)
    RESULT.parent.mkdir(exist_ok=True)
    words = [command, "convert", "-", "-o", RESULT, "--effort", "9"]
    subprocess.run([str(word) for word in words], input=sheet.ppm(), check=True)
    size = RESULT.stat().st_size
    print(f"{RESULT.relative_to(ROOT)}: {sheet.width}x{sheet.height}, {size} bytes")
    return 1 if size > LARGEST else 0


sys.exit(main())
