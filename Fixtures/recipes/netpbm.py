"""Netpbm files: every kind, plain and raw, valid and bad.

Source: the format pages of Netpbm (pbm, pgm, ppm, pam).
"""

import figures


def raw_samples(picture, maxval):
    size = 2 if maxval > 255 else 1
    return b"".join(sample.to_bytes(size, "big") for sample in figures.flat(picture))


def raw(magic, picture, maxval, comment=""):
    head = f"{magic}\n{comment}{picture[0]} {picture[1]}\n{maxval}\n"
    return head.encode() + raw_samples(picture, maxval)


def plain(magic, picture, maxval):
    lines = [magic, f"{picture[0]} {picture[1]}"] + ([] if magic == "P1" else [str(maxval)])
    for row in picture[2]:
        # Plain lines are to be no longer than 70 characters.
        words = [str(sample) for pixel in row for sample in pixel]
        per_line = 70 // (len(str(maxval)) + 1)
        lines += [" ".join(words[i:i + per_line]) for i in range(0, len(words), per_line)]
    return ("\n".join(lines) + "\n").encode()


def raw_bits(picture):
    """P4: 1 is black, eight pixels a byte, rows begin at a byte; the padding bits are set on purpose."""
    out = bytearray(f"P4\n{picture[0]} {picture[1]}\n".encode())
    for row in picture[2]:
        bits = [1 - pixel[0] for pixel in row]
        bits += [1] * (-len(bits) % 8)
        out += bytes(int("".join(map(str, bits[i:i + 8])), 2) for i in range(0, len(bits), 8))
    return bytes(out)


def pam(picture, maxval, kind, channels, extra=""):
    head = (f"P7\nWIDTH {picture[0]}\nHEIGHT {picture[1]}\nDEPTH {channels}\nMAXVAL {maxval}\n{extra}"
            + (f"TUPLTYPE {kind}\n" if kind else "") + "ENDHDR\n")
    return head.encode() + raw_samples(picture, maxval)


def inverted(picture):
    """P1 and P4 store 1 for black."""
    return picture[0], picture[1], [[(1 - sample,) for (sample,) in row] for row in picture[2]]


def valid():
    """(path, bytes, what it shows, (channels, maxval, samples), size) of each valid file."""
    bits, gray, rgb = figures.f_bits(13, 9), figures.f_gray(13, 9), figures.f_rgb(13, 9)
    rgba, graya = figures.with_alpha(rgb), figures.with_alpha(gray)
    bitsa = (13, 9, [[pixel + (0 if x > 9 else 1,) for x, pixel in enumerate(row)] for y, row in enumerate(bits[2])])
    found = []

    def add(name, data, shows, picture, channels, maxval):
        found.append((f"netpbm/valid/{name}", data, shows, (channels, maxval, figures.flat(picture)),
                      (picture[0], picture[1])))

    add("plain.pbm", plain("P1", inverted(bits), 1), "P1: digits with spaces between, 1 is black", bits, 1, 1)
    tight = "P1\n13 9\n" + "\n".join("".join(str(p[0]) for p in row) for row in inverted(bits)[2])
    add("plain-without-spaces.pbm", tight.encode(), "P1: digits need no space between, the last line no end",
        bits, 1, 1)
    add("raw.pbm", raw_bits(bits), "P4: width 13 leaves three padding bits in each row, all set", bits, 1, 1)
    add("plain.pgm", plain("P2", gray, 255), "P2", gray, 1, 255)
    add("raw.pgm", raw("P5", gray, 255), "P5", gray, 1, 255)
    add("plain.ppm", plain("P3", rgb, 255), "P3", rgb, 3, 255)
    add("raw.ppm", raw("P6", rgb, 255), "P6", rgb, 3, 255)
    for maxval in (1, 3, 100, 254, 256, 1000, 65534, 65535):
        size = "two bytes a sample, big endian" if maxval > 255 else "one byte a sample"
        picture = figures.scaled(gray, maxval)
        add(f"maxval-{maxval}.pgm", raw("P5", picture, maxval), f"P5 with maxval {maxval}: {size}",
            picture, 1, maxval)
        picture = figures.scaled(rgb, maxval)
        add(f"maxval-{maxval}.ppm", raw("P6", picture, maxval), f"P6 with maxval {maxval}: {size}",
            picture, 3, maxval)
    wide = figures.scaled(rgb, 65535)
    add("plain-maxval-65535.ppm", plain("P3", wide, 65535), "P3 with maxval 65535", wide, 3, 65535)
    odd = figures.scaled(gray, 100)
    add("plain-maxval-100.pgm", plain("P2", odd, 100), "P2 with an odd maxval", odd, 1, 100)

    comment = "# a comment\n#another # one\n#\n"
    add("comments.pgm", raw("P5", gray, 255, comment), "comment lines between the magic number and the size",
        gray, 1, 255)
    between = b"P6 # behind the magic number\n13 # behind the width\n# a line\n9\n#before maxval\n255\n"
    add("comments-everywhere.ppm", between + raw_samples(rgb, 255), "comments behind every word of the header",
        rgb, 3, 255)
    add("comment-of-5000-bytes.pgm", raw("P5", gray, 255, "#" + "x" * 4999 + "\n"),
        "a header longer than what a sniffer looks at", gray, 1, 255)
    add("white-space.ppm", b"P6\t13\r\n\r\n  9 255\r" + raw_samples(rgb, 255),
        "tab, return, line feed and blank in the header, and one return before the samples", rgb, 3, 255)
    add("leading-zeros.pgm", b"P5\n00013 0009\n0255\n" + raw_samples(gray, 255), "numbers with leading zeros",
        gray, 1, 255)
    line_feeds = (13, 9, [[(10,) for _ in row] for row in gray[2]])
    add("samples-like-white-space.pgm", raw("P5", line_feeds, 255),
        "every sample is a line feed, so only one white space may be skipped behind maxval", line_feeds, 1, 255)
    add("two-images.ppm", raw("P6", rgb, 255) + raw("P6", figures.f_rgb(7, 5), 255),
        "a second picture behind the first, as the format allows; the first counts", rgb, 3, 255)
    add("trailing-bytes.ppm", raw("P6", rgb, 255) + b"\0\xff\0\xff", "bytes behind the picture", rgb, 3, 255)
    dot = (1, 1, [[(200, 100, 50)]])
    add("one-pixel.ppm", raw("P6", dot, 255), "the smallest picture", dot, 3, 255)

    add("black-and-white.pam", pam(bits, 1, "BLACKANDWHITE", 1), "P7: 1 is white, one byte a sample", bits, 1, 1)
    add("grayscale.pam", pam(gray, 255, "GRAYSCALE", 1), "P7 of one channel", gray, 1, 255)
    add("rgb.pam", pam(rgb, 255, "RGB", 3), "P7 of three channels", rgb, 3, 255)
    add("black-and-white-alpha.pam", pam(bitsa, 1, "BLACKANDWHITE_ALPHA", 2), "P7 of one bit and alpha", bitsa, 2, 1)
    add("grayscale-alpha.pam", pam(graya, 255, "GRAYSCALE_ALPHA", 2), "P7 of one channel and alpha", graya, 2, 255)
    add("rgb-alpha.pam", pam(rgba, 255, "RGB_ALPHA", 4), "P7 of three channels and straight alpha", rgba, 4, 255)
    rgba100 = figures.scaled(rgba, 100)
    add("rgb-alpha-maxval-100.pam", pam(rgba100, 100, "RGB_ALPHA", 4), "P7 with an odd maxval, for alpha too",
        rgba100, 4, 100)
    rgba16 = figures.scaled(rgba, 65535)
    add("rgb-alpha-maxval-65535.pam", pam(rgba16, 65535, "RGB_ALPHA", 4), "P7 of 16 bits", rgba16, 4, 65535)
    add("comments.pam", pam(rgb, 255, "RGB", 3, "# a comment\n\n"), "P7 with a comment and an empty line", rgb, 3, 255)
    order = b"P7\nMAXVAL 255\nTUPLTYPE RGB\nDEPTH 3\nHEIGHT 9\nWIDTH 13\nENDHDR\n" + raw_samples(rgb, 255)
    add("fields-in-another-order.pam", order, "P7 whose fields come in another order", rgb, 3, 255)
    return found


def bad():
    """(name, bytes, what it shows, the error code or those of which one must come) of each bad file."""
    gray, rgb = figures.f_gray(13, 9), figures.f_rgb(13, 9)
    body = raw_samples(rgb, 255)
    head = "P7\nWIDTH 13\nHEIGHT 9\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n"

    def changed(old, new):
        return head.replace(old, new).encode() + body

    return [
        ("unknown-magic.ppm", b"P8\n13 9\n255\n" + body, "P8 does not exist", "unrecognizedFormat"),
        ("half-map.phm", b"PH\n1 1\n-1.0\n" + bytes(6), "a map of half-precision floats is another format", ["noCoder", "unrecognizedFormat"]),
        ("width-zero.ppm", b"P6\n0 9\n255\n" + body, "width 0", "corrupt"),
        ("height-zero.ppm", b"P6\n13 0\n255\n" + body, "height 0", "corrupt"),
        ("width-negative.ppm", b"P6\n-13 9\n255\n" + body, "a sign is no digit", "corrupt"),
        ("width-letters.ppm", b"P6\nwide 9\n255\n" + body, "letters where the width should be", "corrupt"),
        ("maxval-zero.ppm", b"P6\n13 9\n0\n" + body, "maxval 0", "corrupt"),
        ("maxval-65536.ppm", b"P6\n13 9\n65536\n" + body * 2, "maxval above 16 bits", "corrupt"),
        ("header-ends-behind-width.ppm", b"P6\n13 ", "the header ends early", "truncated"),
        ("header-ends-in-comment.ppm", b"P6\n13 9\n# the end", "the header ends in a comment", "truncated"),
        ("samples-one-short.ppm", raw("P6", rgb, 255)[:-1], "one byte of the samples is missing", "truncated"),
        ("samples-none.pgm", raw("P5", gray, 255)[:-13 * 9], "a header alone", "truncated"),
        ("bits-one-row-short.pbm", raw_bits(figures.f_bits(13, 9))[:-2], "the last row of bits is missing",
         "truncated"),
        ("plain-one-short.pgm", plain("P2", gray, 255).rstrip(b"\n").rsplit(b" ", 1)[0],
         "one plain sample is missing", "truncated"),
        ("plain-letters.pgm", plain("P2", gray, 255)[:-6] + b"xyz\n", "letters among plain samples", "corrupt"),
        ("plain-two.pbm", plain("P1", figures.f_bits(13, 9), 1)[:-2] + b"2\n", "a plain bit that is 2", "corrupt"),
        ("plain-above-maxval.pgm", b"P2\n2 2\n100\n0 50 100 101\n", "a plain sample above maxval", "corrupt"),
        ("raw-above-maxval.pgm", b"P5\n2 2\n100\n\0\x32\x64\x65", "a raw sample above maxval", "corrupt"),
        ("width-4294967296.ppm", b"P6\n4294967296 1\n255\n" + body, "a width of 2^32", "limitExceeded"),
        ("size-overflows.ppm", b"P6\n65535 65535\n65535\n" + body, "pixels and bytes beyond every limit",
         "limitExceeded"),
        ("width-of-30-digits.ppm", b"P6\n" + b"9" * 30 + b" 1\n255\n" + body, "a width that fits no integer",
         ["limitExceeded", "corrupt"]),
        ("depth-zero.pam", changed("DEPTH 3", "DEPTH 0"), "P7 of no channels", "corrupt"),
        ("depth-2-for-rgb.pam", changed("DEPTH 3", "DEPTH 2"), "P7 whose tuple type needs three channels", "corrupt"),
        ("unknown-tuple-type.pam", changed("DEPTH 3", "DEPTH 5").replace(b"TUPLTYPE RGB", b"TUPLTYPE SPECTRAL")
         + body[:13 * 9 * 2],
         "P7 of a tuple type that means no picture to us", "unsupportedFeature"),
        ("width-missing.pam", changed("WIDTH 13\n", ""), "P7 without a width", "corrupt"),
        ("unknown-field.pam", changed("WIDTH", "BREADTH 3\nWIDTH"), "P7 with a field that does not exist", "corrupt"),
        ("header-without-end.pam", head.replace("ENDHDR\n", "").encode(), "P7 whose header has no end", "truncated"),
        ("maxval-65536.pam", changed("MAXVAL 255", "MAXVAL 65536"), "P7 with maxval above 16 bits", "corrupt"),
        ("samples-one-short.pam", (head.encode() + body)[:-1], "one byte of the samples is missing", "truncated"),
    ]
