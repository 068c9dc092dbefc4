"""Valid pictures: the synthetic ones as Netpbm files, then each format by the tools of its library."""

import tempfile
from pathlib import Path

import containers
import digest
import figures
import netpbm
from digest import run


def sources():
    """name → (bytes, what it shows, whether it has alpha, bit depth)."""
    rgb, gray = figures.f_rgb(), figures.f_gray()
    sixteen = figures.scaled(rgb, 65535)
    rgba, graya = figures.with_alpha(rgb), figures.with_alpha(gray)
    return {
        "f.ppm": (netpbm.raw("P6", rgb, 255), "an F on a ramp in three channels, both sides odd", False, 8),
        "gray.pgm": (netpbm.raw("P5", gray, 255), "an F on a gray ramp", False, 8),
        "bitmap.pbm": (netpbm.raw_bits(figures.f_bits()), "an F in one bit, width no multiple of 8", False, None),
        "sixteen.ppm": (netpbm.raw("P6", sixteen, 65535), "an F of 16 bits whose lower bytes matter", False, 16),
        "rgba.pam": (netpbm.pam(rgba, 255, "RGB_ALPHA", 4), "alpha from full to none, colour left under none", True, 8),
        "graya.pam": (netpbm.pam(graya, 255, "GRAYSCALE_ALPHA", 2), "gray and alpha", True, 8),
        "photo.ppm": (netpbm.raw("P6", figures.photo(), 255), "dead leaves with noise, like a photograph", False, 8),
    }


def make():
    """Yields (path, bytes, format, what it shows, how it is made, expectations)."""
    recipe = "recipes/images.py"
    made = sources()
    for name, (data, shows, alpha, depth) in made.items():
        expect = {"has_alpha": alpha, **({"bit_depth": depth} if depth else {})}
        yield name, data, "pam" if name.endswith("pam") else "pnm", shows, recipe, expect
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, (data, *_) in made.items():
            (place / name).write_bytes(data)
        yield from encoded(place)


def encoded(place):
    """Every format, each by a tool whose command is written into the entry."""
    def tool(name, kind, shows, command, **expect):
        """Runs a command of the shell in which $OUT is the result, or standard output if it has none."""
        output = run("sh", "-c", f"cd {place} && " + command.replace("$OUT", name))
        if "$OUT" not in command:
            (place / name).write_bytes(output)
        return name, (place / name).read_bytes(), kind, shows, command.replace("$OUT", name), expect

    opaque = {"has_alpha": False, "bit_depth": 8}
    clear = {"has_alpha": True, "bit_depth": 8}
    exact = "-L -p chroma=444"
    yield tool("f.jpg", "jpeg", "baseline, 4:2:0", "cjpeg -quality 90 f.ppm", **opaque)
    yield tool("f-progressive.jpg", "jpeg", "progressive, 4:4:4", "cjpeg -quality 90 -progressive -sample 1x1 f.ppm",
               **opaque)
    yield tool("gray.jpg", "jpeg", "baseline, one component", "cjpeg -quality 90 gray.pgm", **opaque)
    yield tool("photo.jpg", "jpeg", "photograph-like", "cjpeg -quality 75 photo.ppm", **opaque)
    yield tool("f.png", "png", "8 bits, three channels", "pamtopng f.ppm", **opaque)
    yield tool("gray.png", "png", "8 bits, gray", "pamtopng gray.pgm", **opaque)
    yield tool("bitmap.png", "png", "one bit, gray", "pamtopng bitmap.pbm", has_alpha=False, bit_depth=1)
    yield tool("sixteen.png", "png", "16 bits, three channels", "pamtopng sixteen.ppm", has_alpha=False, bit_depth=16)
    yield tool("rgba.png", "png", "8 bits with alpha", "pamtopng rgba.pam", **clear)
    yield tool("graya.png", "png", "gray with alpha", "pamtopng graya.pam", **clear)
    yield tool("photo.png", "png", "photograph-like", "pamtopng photo.ppm", **opaque)
    yield tool("f.webp", "webp", "lossy", "cwebp -quiet -q 80 f.ppm -o $OUT", **opaque)
    yield tool("rgba.webp", "webp", "lossless with alpha, colour kept where alpha is 0",
               "cwebp -quiet -lossless -exact rgba.png -o $OUT", **clear)
    yield tool("photo.webp", "webp", "lossy, photograph-like", "cwebp -quiet -q 75 photo.ppm -o $OUT", **opaque)
    yield tool("f.gif", "gif", "one frame, a table of 64 colours", "pnmquant 64 f.ppm | ppmtogif", has_alpha=False)
    yield tool("f.heic", "heic", "HEVC without loss, 4:4:4", f"heif-enc {exact} f.png -o $OUT", **opaque)
    yield tool("f.avif", "avif", "AV1 without loss, 4:4:4", f"heif-enc -A {exact} f.png -o $OUT", **opaque)
    yield tool("rgba.heic", "heic", "HEVC with alpha", f"heif-enc {exact} rgba.png -o $OUT", **clear)
    yield tool("rgba.avif", "avif", "AV1 with alpha", f"heif-enc -A {exact} rgba.png -o $OUT", **clear)
    yield tool("photo.heic", "heic", "HEVC with loss, 4:2:0", "heif-enc -q 60 photo.png -o $OUT", **opaque)
    yield tool("photo.avif", "avif", "AV1 with loss, 4:2:0", "heif-enc -A -q 60 photo.png -o $OUT", **opaque)
    yield from animated(tool)
    yield from by_hand(place, tool)


def animated(tool):
    each = "for turn in null rotate180 leftright; do pnmflip -$turn f.ppm | "
    yield tool("three-frames.gif", "gif", "three frames of 0.1 s, 0.2 s and 0.1 s, loop count stored as 2",
               each + "pnmquant 64 | ppmtogif > $turn.gif; done; "
               "gifsicle -l2 --no-warnings -d10 null.gif -d20 rotate180.gif -d10 leftright.gif",
               has_alpha=False, frame_count=3)
    yield tool("three-frames.webp", "webp", "three frames of 100 ms, 200 ms and 100 ms, for ever",
               each + "pamtopng > $turn.png; done; "
               "img2webp -lossless -loop 0 -d 100 null.png -d 200 rotate180.png -d 100 leftright.png -o $OUT",
               # A coder for stills takes the first frame for the whole; how many there are is not its business.
               frame_count=None)


def by_hand(place, tool):
    """Metadata, names and tails that no tool would write."""
    recipe = "recipes/images.py with recipes/containers.py"
    opaque = {"has_alpha": False, "bit_depth": 8}
    c = containers
    plain = tool("plain.jpg", "jpeg", "", "cjpeg -quality 95 -sample 1x1 f.ppm")[1]
    png, webp, gif = (place / "f.png").read_bytes(), (place / "f.webp").read_bytes(), (place / "f.gif").read_bytes()
    for number in range(1, 9):
        order, word = ("<", "little") if number % 2 else (">", "big")
        yield (f"orientation-{number}.jpg", c.jpeg_with(plain, c.app1_exif(number, order)), "jpeg",
               f"Exif orientation {number}, {word} endian; the stored pixels are the same in all eight", recipe,
               {"orientation": number, **opaque})
    yield ("orientation-6.png", c.png_with(png, b"eXIf", c.tiff(6)), "png", "Exif orientation in eXIf", recipe,
           {"orientation": 6, **opaque})
    (place / "exif").write_bytes(c.tiff(6))
    yield tool("orientation-6.webp", "webp", "Exif orientation in a chunk", "webpmux -set exif exif f.webp -o $OUT",
               orientation=6, **opaque)
    yield ("orientation-3-in-xmp-only.jpg", c.jpeg_with(plain, c.app1_exif(None), c.app1_xmp(3)), "jpeg",
           "orientation in XMP, while Exif is there and silent", recipe, {"orientation": 3, **opaque})
    yield ("orientation-6-in-exif-3-in-xmp.jpg", c.jpeg_with(plain, c.app1_exif(6), c.app1_xmp(3)), "jpeg",
           "Exif and XMP disagree about the orientation; Exif counts", recipe, {"orientation": 6, **opaque})
    srgb, wide = c.profile("sRGB-like", c.SRGB), c.profile("wide gamut", c.WIDE)
    yield ("icc-srgb-like.jpg", c.jpeg_with(plain, c.jpeg_segment(0xE2, b"ICC_PROFILE\0\1\1" + srgb)), "jpeg",
           "a profile in one APP2 segment", recipe, {"color_profile": "icc", **opaque})
    yield ("icc-wide-in-three-segments.jpg", c.jpeg_with(plain, *(
        c.jpeg_segment(0xE2, b"ICC_PROFILE\0" + bytes([i + 1, 3]) + wide[200 * i:200 * (i + 1) if i < 2 else None])
        for i in (1, 0, 2))), "jpeg", "a profile in three APP2 segments, the second first", recipe,
        {"color_profile": "icc", **opaque})
    for name, data in (("srgb-like", srgb), ("wide", wide)):
        chunk = name.encode() + b"\0\0" + containers.zlib.compress(data, 9)
        yield (f"icc-{name}.png", c.png_with(png, b"iCCP", chunk), "png", "a profile in iCCP", recipe,
               {"color_profile": "icc", **opaque})
    yield "cmyk.jpg", c.cmyk_jpeg(), "jpeg", "four components, inverted as Adobe stores them", recipe, opaque
    wide_rgba = figures.with_alpha(figures.scaled(figures.f_rgb(), 65535), 65535)
    yield ("rgba.ff", c.farbfeld(wide_rgba), "farbfeld", "16 bits with alpha", recipe,
           {"has_alpha": True, "bit_depth": 16})
    yield "jpeg-named.png", plain, "jpeg", "the content decides, not the name", recipe, opaque
    yield "png-named.jpg", png, "png", "the content decides, not the name", recipe, opaque
    yield "webp-without-extension", webp, "webp", "a name without an extension", recipe, opaque
    for name, data, kind in (("jpg", plain, "jpeg"), ("png", png, "png"), ("gif", gif, "gif"), ("webp", webp, "webp")):
        yield (f"trailing-garbage.{name}", data + b"\0\xff\xd8 not part of the picture" * 4, kind,
               "bytes behind the end of the picture", recipe, {"has_alpha": False})


def expectations(path, kind, given):
    """The facts of an independent decoder, with those that the recipe knows."""
    # Colour conversion after chroma upsampling differs between releases of libheif, so lossy pictures have no digest.
    exact = not path.name.startswith("photo") or kind not in ("heic", "avif")
    width, height, value, by = digest.facts(path, kind)
    expect = {"width": width, "height": height, "frame_count": 1, **given}
    expect = {key: fact for key, fact in expect.items() if fact is not None}
    return {**expect, "pixel_sha256": value, "digest_by": by} if exact else expect
