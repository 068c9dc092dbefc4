"""Files that must be refused, each with the error it must be refused with."""

import struct
import zlib

import containers as c
import figures


def truncated(pictures):
    """One file of each format, cut inside its pixel data."""
    cuts = {
        "f.jpg": ("jpeg", 0.8), "f-progressive.jpg": ("jpeg", 0.8), "f.png": ("png", 0.6), "f.gif": ("gif", 0.7),
        "f.webp": ("webp", 0.6), "rgba.webp": ("webp", 0.6), "f.heic": ("heic", 0.8), "f.avif": ("avif", 0.8),
        "rgba.ff": ("farbfeld", 0.6), "rgba.pam": ("pam", 0.6),
    }
    for name, (kind, share) in cuts.items():
        data = pictures[name]
        yield (f"truncated-{name}", data[:int(len(data) * share)], kind,
               f"images/{name}, cut after {share:.0%} of its bytes", "truncated")


def huge():
    """Valid headers of 65535 x 65535 pixels with next to nothing behind."""
    side, limit = 65535, "limitExceeded"
    shows = "a header of 65535 x 65535 pixels in a tiny file"
    yield ("header-65535x65535.png", c.png_header(side, side, 8, 6) + c.png_chunk(b"IDAT", zlib.compress(bytes(64)))
           + c.png_chunk(b"IEND", b""), "png", shows, limit)
    jpeg = c.cmyk_jpeg()
    size = jpeg.index(b"\xff\xc0") + 5
    yield ("header-65535x65535.jpg", jpeg[:size] + struct.pack(">HH", side, side) + jpeg[size + 4:], "jpeg", shows,
           # The codec library has a limit of its own, 65500, and speaks first.
           [limit, "unsupportedFeature"])
    yield "header-65535x65535.gif", gif(side, side, [4, 1, 5]), "gif", shows, limit
    # VP8X with the animation flag; canvas sides are stored minus one in 24 bits.
    canvas = bytes([0x02, 0, 0, 0]) + struct.pack("<I", side - 1)[:3] * 2
    # One pixel, by "cwebp -lossless".
    pixel = bytes.fromhex("5650384c 11000000 2f00000000 0750904214a6ff8188e87f00 00")
    frame = bytes(12) + struct.pack("<I", 100)[:3] + b"\0" + pixel
    yield ("header-65535x65535.webp", c.riff(b"WEBP", (b"VP8X", canvas), (b"ANIM", bytes(6)), (b"ANMF", frame)),
           "webp", shows, limit)
    head = f"P7\nWIDTH {side}\nHEIGHT {side}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
    yield "header-65535x65535.pam", head.encode() + bytes(64), "pam", shows, limit
    yield "header-65535x65535.ff", b"farbfeld" + struct.pack(">II", side, side) + bytes(64), "farbfeld", shows, limit
    # 225 million pixels are within the limit of pixels, but each input byte stands for thousands of bytes.
    row = bytes(15000 // 8 + 1)
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(row) for _ in range(15000)) + packer.flush()
    yield ("ratio-above-2000.png", c.png_header(15000, 15000, 1, 0) + c.png_chunk(b"IDAT", packed)
           + c.png_chunk(b"IEND", b""), "png", "a valid picture of 15000 x 15000 pixels in few bytes", limit)


def gif(width, height, codes):
    """A GIF of four colours whose one frame holds these LZW codes, all of three bits.

    Source: GIF89a sections 18, 20, 22 and appendix F; with a code size of 2, clear is 4 and the end is 5.
    """
    bits = "".join(format(code, "03b")[::-1] for code in codes)
    bits += "0" * (-len(bits) % 8)
    data = bytes(int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))
    table = bytes([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    return (b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF1, 0, 0) + table
            + b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + bytes([2, len(data)]) + data + b"\0\x3b")


def damaged(pictures):
    png = pictures["f.png"]
    at = png.index(b"IDAT")
    length = struct.unpack(">I", png[at - 4:at])[0]
    flipped = bytearray(png)
    flipped[at + 4 + length] ^= 0x01
    yield "wrong-checksum-idat.png", bytes(flipped), "png", "the CRC of IDAT has one wrong bit", "corrupt"
    flipped = bytearray(png)
    flipped[29] ^= 0x01
    yield "wrong-checksum-ihdr.png", bytes(flipped), "png", "the CRC of IHDR has one wrong bit", "corrupt"
    yield ("width-zero.png", c.png_header(0, 17, 8, 2) + png[33:], "png", "IHDR with width 0", "corrupt")
    yield ("color-type-5.png", c.png_header(31, 17, 8, 5) + png[33:], "png", "IHDR with a colour type that is not",
           "corrupt")
    yield ("idat-missing.png", png[:33] + c.png_chunk(b"IEND", b""), "png", "IEND right behind IHDR", "corrupt")
    stream = png[:at - 4] + c.png_chunk(b"IDAT", b"\x78\x9c" + b"\xff" * 40) + png[at + 8 + length:]
    yield "deflate-block-type-3.png", stream, "png", "IDAT whose deflate stream is none", "corrupt"
    yield ("lzw-code-out-of-range.gif", gif(4, 4, [4, 1, 7, 5]), "gif", "an LZW code that no table entry has yet",
           "corrupt")
    yield "width-zero.gif", gif(0, 4, [4, 5]), "gif", "a canvas and a frame of width 0", "corrupt"
    jpeg = pictures["f.jpg"]
    at = jpeg.index(b"\xff\xc0") + 7
    yield "width-zero.jpg", jpeg[:at] + b"\0\0" + jpeg[at + 2:], "jpeg", "SOF0 with width 0", "corrupt"
    at = jpeg.index(b"\xff\xda")
    yield ("huffman-code-overflow.jpg", jpeg[:at] + c.jpeg_segment(0xC4, bytes([0, 255] + [0] * 15) + bytes(255))
           + jpeg[at:], "jpeg", "a Huffman table with 255 codes of one bit", "corrupt")
    yield "scan-missing.jpg", jpeg[:at] + b"\xff\xd9", "jpeg", "EOI where the scan should be", "corrupt"
    webp = bytearray(pictures["rgba.webp"])
    at = webp.index(b"VP8L") + 8
    webp[at] ^= 0xFF
    yield "vp8l-signature.webp", bytes(webp), "webp", "VP8L whose first byte is not 0x2F", "corrupt"
    yield ("width-zero.ff", b"farbfeld" + struct.pack(">II", 0, 4), "farbfeld", "a width of 0", "corrupt")


def strangers():
    unknown = "unrecognizedFormat"
    yield "empty", b"", "none", "a file of no bytes", unknown
    yield "one-byte", b"\x89", "none", "the first byte of a PNG, and that is all", unknown
    yield "text-named.png", b"This is not a picture.\n" * 4, "none", "text with a picture's name", unknown
    yield "zeros", bytes(1024), "none", "a KiB of zeros", unknown
    dice = figures.noise(7)
    yield "noise", bytes([0x01] + [next(dice) for _ in range(1023)]), "none", "a KiB of noise", unknown
    yield "riff-of-sound.webp", c.riff(b"WAVE", (b"fmt ", bytes(16)), (b"data", bytes(8))), "none", (
        "RIFF of another form"), unknown
    yield ("iso-media-of-video.heic", struct.pack(">I4s4sI4s4s", 24, b"ftyp", b"isom", 512, b"isom", b"mp41")
           + struct.pack(">I4s", 8, b"mdat"), "none", "ISO media of a brand that is no picture", unknown)
    signature = b"\x89PNG\r\n\x1a\n"
    yield "signature-alone.png", signature, "png", "eight bytes of signature", "truncated"
    yield "signature-alone.jpg", b"\xff\xd8\xff", "jpeg", "SOI and half a marker", "truncated"
    yield "signature-alone.gif", b"GIF89a", "gif", "six bytes of signature", "truncated"
    yield "signature-alone.ff", b"farbfeld", "farbfeld", "eight bytes of signature", "truncated"


def make(pictures):
    """Yields (name, bytes, format, what it shows, the error) of every bad file."""
    yield from strangers()
    yield from truncated(pictures)
    yield from huge()
    yield from damaged(pictures)
