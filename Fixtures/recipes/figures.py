"""Synthetic pictures, asymmetric so that a wrong orientation, a swapped channel or a shifted row is seen at once.

A picture is (width, height, rows); a row is a list of tuples of samples. Everything here is integer arithmetic, so
every machine makes the same bytes.
"""

# An F: its mirror images and its rotations all differ.
GLYPH = ["#####", "#....", "####.", "#....", "#....", "#...."]
# Colour of the glyph, far from every colour of the ramp behind it.
INK = (250, 235, 20)


def noise(seed):
    """Numbers 0 … 255 for ever (Numerical Recipes' LCG, upper bits)."""
    state = seed
    while True:
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        yield state >> 24


def is_ink(x, y, width, height):
    """Whether the glyph, in the upper left, covers the pixel."""
    cell = max(1, height // 8)
    column, row = (x - 2 * cell) // cell, (y - cell) // cell
    return 0 <= row < 6 and 0 <= column < 5 and GLYPH[row][column] == "#"


def ramp(position, last, low, high):
    return low + (high - low) * position // max(1, last)


def f_rgb(width=31, height=17):
    """Red grows to the right, green downwards, blue to the upper left."""
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            red = ramp(x, width - 1, 10, 200)
            green = ramp(y, height - 1, 20, 180)
            blue = ramp(width + height - 2 - x - y, width + height - 2, 40, 160)
            row.append(INK if is_ink(x, y, width, height) else (red, green, blue))
        rows.append(row)
    return width, height, rows


def f_gray(width=31, height=17):
    rows = [
        [(250,) if is_ink(x, y, width, height) else (ramp(x + 2 * y, width + 2 * height - 3, 5, 190),)
         for x in range(width)] for y in range(height)]
    return width, height, rows


def f_bits(width=31, height=17):
    """1 is white, as in PAM; one white pixel marks the lower right corner."""
    rows = [
        [(1,) if is_ink(x, y, width, height) or (x, y) == (width - 1, height - 1) else (0,) for x in range(width)]
        for y in range(height)]
    return width, height, rows


def with_alpha(picture, top=255):
    """Alpha falls to the right: full in the first quarter, none in the last, with colour left under it."""
    width, height, rows = picture
    out = []
    for row in rows:
        new = []
        for x, pixel in enumerate(row):
            alpha = max(0, min(top, top * (3 * width - 4 * x) // (2 * width)))
            new.append(pixel + (alpha,))
        out.append(new)
    return width, height, out


def scaled(picture, maxval, source=255):
    """The same picture with other sample values; spreads low bits so that 16 bits are more than 8 bits twice."""
    width, height, rows = picture

    def level(sample, x, y):
        if sample in (0, source):
            return sample // source * maxval
        return (sample * maxval + (x * 7 + y * 13) % source) // source

    return width, height, [
        [tuple(level(sample, x, y) for sample in pixel) for x, pixel in enumerate(row)] for y, row in enumerate(rows)]


def photo(width=160, height=120):
    """Dead leaves (discs of falling size over each other) with noise: edges and spectrum of a photograph."""
    dice = noise(2024)
    leaves = []
    for step in range(400):
        radius = 40 - 36 * step // 400
        centre_x, centre_y = next(dice) * width // 256, next(dice) * height // 256
        leaves.append((centre_x, centre_y, radius * radius, (next(dice), next(dice), next(dice))))
    leaves.reverse()
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            colour = (90, 110, 130)
            for centre_x, centre_y, square, leaf in leaves:
                if (x - centre_x) ** 2 + (y - centre_y) ** 2 <= square:
                    colour = leaf
                    break
            grain = next(dice) % 13 - 6
            row.append(tuple(max(0, min(255, sample + grain)) for sample in colour))
        rows.append(row)
    return width, height, rows


def flat(picture):
    """The samples of a picture, one after the other."""
    return [sample for row in picture[2] for pixel in row for sample in pixel]
