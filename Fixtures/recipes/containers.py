"""Pieces of file formats, written by hand: segments, chunks, a profile, a CMYK JPEG."""

import struct
import zlib


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_header(width, height, depth, colour):
    """Signature and IHDR."""
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


def png_with(png, kind, data):
    """The picture with a chunk right behind IHDR, which ends at byte 33."""
    return png[:33] + png_chunk(kind, data) + png[33:]


def jpeg_segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg_with(jpeg, *segments):
    """The picture with segments behind SOI and JFIF's APP0, which ends at byte 20."""
    return jpeg[:20] + b"".join(segments) + jpeg[20:]


def tiff(orientation, order="<"):
    """An Exif blob that holds the orientation, or nothing but the resolution unit when it is None.

    Source: TIFF 6.0 section 2; CIPA DC-008, tags 0x0112 and 0x0128.
    """
    tag, value = (0x0128, 2) if orientation is None else (0x0112, orientation)
    mark = b"II" if order == "<" else b"MM"
    return mark + struct.pack(order + "HIHHHIHHI", 42, 8, 1, tag, 3, 1, value, 0, 0)


def app1_exif(orientation, order="<"):
    return jpeg_segment(0xE1, b"Exif\0\0" + tiff(orientation, order))


def app1_xmp(orientation):
    """Source: XMP specification part 3, section 1.1.3 (JPEG); the property tiff:Orientation of part 2."""
    packet = (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" '
        f'tiff:Orientation="{orientation}"/></rdf:RDF></x:xmpmeta><?xpacket end="r"?>')
    return jpeg_segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + packet.encode())


# XYZ of red, green and blue, adapted to D50 (IEC 61966-2-1 and SMPTE EG 432-1, through Bradford).
SRGB = [(0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410)]
WIDE = [(0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407)]


def profile(name, primaries):
    """The smallest ICC profile of a screen: three primaries and one gamma of 2.2.

    Source: ICC.1:2001-04, sections 6.1 (header), 6.3.1.2 (required tags), 6.5.
    """
    def fixed(value):
        return struct.pack(">i", round(value * 65536))

    def xyz(values):
        return b"XYZ \0\0\0\0" + b"".join(map(fixed, values))

    text = name.encode() + b"\0"
    description = b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(4 + 4 + 2 + 1 + 67)
    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, 0x0233)
    white = (0.96420, 1.0, 0.82491)
    tags = [
        (b"desc", description), (b"cprt", b"text\0\0\0\0No rights reserved\0"), (b"wtpt", xyz(white)),
        (b"rXYZ", xyz(primaries[0])), (b"gXYZ", xyz(primaries[1])), (b"bXYZ", xyz(primaries[2])),
        (b"rTRC", curve), (b"gTRC", curve), (b"bTRC", curve),
    ]
    table, body, places = struct.pack(">I", len(tags)), b"", {}
    start = 128 + 4 + 12 * len(tags)
    for kind, data in tags:
        if data not in places:
            places[data] = start + len(body)
            body += data + bytes(-len(data) % 4)
        table += kind + struct.pack(">II", places[data], len(data))
    head = struct.pack(
        ">I4s4s4s4s4s6H4s4s4s4s4s8s4s", start + len(body), bytes(4), b"\x02\x10\0\0", b"mntr", b"RGB ", b"XYZ ",
        2024, 1, 1, 0, 0, 0, b"acsp", bytes(4), bytes(4), bytes(4), bytes(4), bytes(8), bytes(4))
    head += b"".join(map(fixed, white))
    return head.ljust(128, b"\0") + table + body


def cmyk_jpeg():
    """Six flat blocks in a 24x16 baseline JPEG of four components, stored inverted as Adobe does.

    A flat block has a DC coefficient alone; with a quantiser of 8 it is the sample minus 128, so nothing is lost.
    Source: ITU-T T.81, annexes B and F; Adobe TN 5116 section 18 (APP14).
    """
    blocks = [
        (255, 255, 255, 255), (0, 255, 255, 255), (255, 0, 255, 255),
        (255, 255, 0, 255), (255, 255, 255, 0), (255, 255, 255, 128),
    ]
    # DC codes by category (T.81 table K.3); the one AC code, "0", is the end of the block.
    codes = ["00", "010", "011", "100", "101", "110", "1110", "11110", "111110", "1111110", "11111110", "111111110"]
    bits, previous = "", [0, 0, 0, 0]
    for block in blocks:
        for index, sample in enumerate(block):
            difference = sample - 128 - previous[index]
            previous[index] = sample - 128
            category = abs(difference).bit_length()
            bits += codes[category]
            if category:
                bits += format(difference if difference > 0 else difference + (1 << category) - 1, f"0{category}b")
            bits += "0"
    bits += "1" * (-len(bits) % 8)
    data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    components = b"".join(bytes([name, 0x11, 0]) for name in b"CMYK")
    return (
        b"\xff\xd8"
        + jpeg_segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0))
        + jpeg_segment(0xDB, bytes([0]) + bytes([8] * 64))
        + jpeg_segment(0xC0, struct.pack(">BHHB", 8, 16, 24, 4) + components)
        + jpeg_segment(0xC4, bytes([0x00, 0, 1, 5, 1, 1, 1, 1, 1, 1] + [0] * 7) + bytes(range(12)))
        + jpeg_segment(0xC4, bytes([0x10, 1] + [0] * 15) + bytes([0]))
        + jpeg_segment(0xDA, bytes([4]) + b"".join(bytes([name, 0]) for name in b"CMYK") + bytes([0, 63, 0]))
        + data + b"\xff\xd9")


def farbfeld(picture):
    """RGBA of 16 bits. Source: the format's page, https://tools.suckless.org/farbfeld/."""
    samples = [sample for row in picture[2] for pixel in row for sample in pixel]
    return b"farbfeld" + struct.pack(f">II{len(samples)}H", picture[0], picture[1], *samples)


def riff(form, *chunks):
    body = form
    for kind, data in chunks:
        body += kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body
