"""The judges: decoders of other projects, in process or by their programs, and references of the suites."""
import functools
import glob
import importlib
import os
import re
import shutil
import subprocess
import tempfile

import numpy as np

import pixels
from pixels import OtherColors, Unreadable, image

LONGEST = 60  # seconds for one program


@functools.cache
def program(*names, version=None):
    """The path of the first program that is installed and states `version`."""
    for name in names:
        path = shutil.which(name)
        if path and (version is None or version in run([path, "-version"], check=False).decode(errors="replace")):
            return path
    raise ImportError(names[0])


@functools.cache
def module(name):
    return importlib.import_module(name)


def run(command, check=True):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST)
    if check and done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"status {done.returncode}"]
        raise Unreadable(lines[0][:160])
    return done.stdout


# In process


def pillow(path, kind):
    """Pillow. It reduces 16 bits of several channels to 8."""
    opener = module("PIL.Image")
    opener.MAX_IMAGE_PIXELS = None
    if kind == "jxl":
        module("pillow_jxl")
    with opener.open(path) as opened:
        opened.load()
        turned = module("PIL.ImageOps").exif_transpose(opened) if kind in ("jxl", "jpeg") else opened
        return from_pillow(turned)


def from_pillow(opened):
    mode = opened.mode
    if mode == "F":
        return image(np.array(opened))
    if mode.startswith("I;16"):
        return image(np.array(opened).astype(np.uint16))
    if mode in ("LAB", "HSV", "I"):
        raise OtherColors()
    if mode == "RGBa":
        return image(np.frombuffer(opened.tobytes(), np.uint8).reshape(opened.height, opened.width, 4),
                     alpha=True, premultiplied=True)
    if mode in ("P", "PA", "La") or "transparency" in opened.info:
        opened = opened.convert("RGBA")
    elif mode in ("YCbCr", "RGBX"):
        opened = opened.convert("RGB")
    return image(np.array(opened), alpha=opened.mode in ("LA", "RGBA"), inks=opened.mode == "CMYK")


def tifffile(path, kind):
    """tifffile with the codecs of imagecodecs."""
    libtiff = module("tiffpages")
    with module("tifffile").TiffFile(path) as opened:
        page = opened.pages[0]
        photometric = int(page.photometric)
        if photometric == libtiff.YCBCR and page.compression != 7 or page.compression in (6, 34676, 34677, 32909):
            raise OtherColors()  # tifffile delivers the stored samples
        array = page.asarray()
        if page.imagelength * page.imagewidth * page.samplesperpixel != array.size:
            raise OtherColors()
        if array.ndim == 3 and int(page.planarconfig) == 2:
            array = array.transpose(1, 2, 0)
        array = array.reshape(page.imagelength, page.imagewidth, -1)
        tag = page.tags.get(274)
        sample = int(page.sampleformat)
        return libtiff.by_meaning(
            array, page.bitspersample, array.dtype.kind == "f", sample == 2,
            libtiff.RGB if photometric == libtiff.YCBCR else photometric, [int(one) for one in page.extrasamples],
            page.colormap, int(tag.value) if tag else 1)


@functools.cache
def tiff_library():
    return module("tiffpages").Library()


def libtiff(path, kind):
    """Debian's libtiff, by its calls for strips and tiles."""
    return tiff_library().read(path)


def imagecodecs(path, kind):
    """imagecodecs, with its own copies of libjxl, OpenJPEG, OpenJPH, libjpeg-turbo 3 and others."""
    codecs = module("imagecodecs")
    with open(path, "rb") as file:
        data = file.read()
    if kind == "jpeg":
        array = codecs.jpeg8_decode(data)
        bits = jpeg_bits(data)
        return image(array, (1 << bits) - 1, inks=array.ndim == 3 and array.shape[2] == 4)
    if kind == "hdr":
        return image(codecs.rgbe_decode(data), linear=True)
    if kind == "dds":
        array = codecs.dds_decode(data)
        return image(array, alpha=array.ndim == 3 and array.shape[2] in (2, 4), linear=True if array.dtype.kind == "f" else None)
    decode = {"jxl": "jpegxl", "jp2": "jpeg2k", "qoi": "qoi"}[kind]
    array = getattr(codecs, decode + "_decode")(data)
    if kind == "jp2":
        return image(*unsigned(array, data), alpha=array.ndim == 3 and array.shape[2] in (2, 4))
    if kind == "jxl" and array.ndim == 4:
        array = array[0]
    result = image(array, alpha=array.ndim == 3 and array.shape[2] in (2, 4))
    return as_stored(result) if kind == "jxl" else result


def unsigned(array, data):
    """The samples of JPEG 2000 from 0 to their maximum, by the first component of the marker SIZ."""
    place = data.find(b"\xff\x4f\xff\x51")
    depth = data[place + 42] if place >= 0 else 7
    bits = (depth & 127) + 1
    if depth & 128:
        array = array.astype(np.int32) + (1 << bits - 1)
    return array, (1 << bits) - 1


def opencv(path, kind):
    """OpenCV, whose readers of PFM and Radiance deliver floats."""
    cv2 = module("cv2")
    array = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    if array is None:
        raise Unreadable("imread")
    if array.ndim == 3:
        array = array[:, :, [2, 1, 0, 3][:array.shape[2]]]
    return image(array, alpha=array.ndim == 3 and array.shape[2] == 4, linear=True if array.dtype.kind == "f" else None)


def jpegsof3(path, kind):
    """The decoder of lossless JPEG by Chris Rorden, for gray and RGB."""
    with open(path, "rb") as file:
        data = file.read()
    return image(module("imagecodecs").jpegsof3_decode(data), (1 << jpeg_bits(data)) - 1)


def jpeg_bits(data):
    """The precision in the frame header of a JPEG."""
    place = 2
    while place + 4 < len(data):
        if data[place] != 0xFF:
            break
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return data[place + 4]
        if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD8:
            place += 1 if marker == 0xFF else 2
            continue
        place += 2 + int.from_bytes(data[place + 2:place + 4], "big")
    raise Unreadable("no frame header")


def psd_tools(path, kind):
    """psd-tools: the merged image, not its own composition of the layers."""
    opened = module("psd_tools").PSDImage.open(path)
    if not opened.has_preview():
        raise Unreadable("no merged image")
    colors, alpha = opened.numpy("color"), opened.numpy("shape")
    mode = opened.color_mode.name
    if mode == "LAB":
        raise OtherColors()
    if mode == "CMYK":
        return image(1 - colors, inks=True)
    values = colors if alpha is None else np.concatenate([colors, alpha], axis=2)
    step = {1: 1, 8: 1 / 255, 16: 1 / 65535}.get(opened.depth, 0)
    return image(values, alpha=alpha is not None)._replace(step=step)


def openexr(path, kind):
    """The C++ library of OpenEXR: part 0, default layer, the data window within the display window."""
    with module("OpenEXR").File(path, separate_channels=True) as opened:
        part = opened.parts[0]
        channels = {name: part.channels[name].pixels for name in part.channels}
        names = [name for name in "RGBA" if name in channels] if "R" in channels or "G" in channels else ["Y"]
        if any(name not in channels for name in names) or {"RY", "BY"} & set(channels):
            raise OtherColors()
        planes = [np.asarray(channels[name]) for name in names]
        if len({plane.shape for plane in planes}) != 1 or planes[0].ndim != 2:
            raise OtherColors()
        alpha = names[-1] == "A"
        stored = np.stack(planes, axis=2).astype(np.float32)
        data, shown = (np.asarray(part.header[name]).reshape(2, 2) for name in ("dataWindow", "displayWindow"))
        width, height = shown[1] - shown[0] + 1
        canvas = np.zeros((height, width, len(planes)), np.float32)
        left, top = np.maximum(data[0], shown[0])
        right, bottom = np.minimum(data[1], shown[1]) + 1
        if not alpha and (right - left, bottom - top) != (width, height):
            # Outside the data window the image is clear.
            stored = np.dstack([stored, np.ones(stored.shape[:2], np.float32)])
            canvas, alpha = np.zeros((height, width, len(planes) + 1), np.float32), True
        if right > left and bottom > top:
            (x, y), (u, v) = shown[0], data[0]
            canvas[top - y:bottom - y, left - x:right - x] = stored[top - v:bottom - v, left - u:right - u]
        return image(canvas, alpha=alpha, premultiplied=alpha, linear=True)


# By a program


def imagemagick(path, kind):
    """ImageMagick: the first image of a file, the largest one of an icon."""
    tool = program("convert-im6.q16", "magick", "convert", version="ImageMagick")
    with open(path, "rb") as file:
        if kind == "exr" and b"RY\0" in file.read(4096):
            raise OtherColors()  # it shows luminance and chroma as red, green and blue
    prefix = {"ras": "sun", "jpeg": "jpg", "cur": "ico"}.get(kind, kind)
    which = "" if kind in ("ico", "cur") else "[0]"
    extra = ["-auto-orient"] if kind in ("tiff", "jpeg", "jxl") else []
    images = pixels.read_pam(run([tool, f"{prefix}:{path}{which}", *extra, "-depth", "16", "pam:-"]))
    # It widens 8 bits to 16, which every multiple of 257 shows, and cuts light above white off.
    largest = max(images, key=lambda one: one.values.shape[0] * one.values.shape[1])
    whole = np.rint(largest.values * 65535).astype(np.uint32) % 257
    return largest._replace(linear=True if kind in ("exr", "hdr", "pfm") else None, step=1 / 65535 if whole.any() else 1 / 255)


def ffmpeg(path, kind):
    """FFmpeg, whose decoders of old formats, TIFF, PSD, EXR and JPEG 2000 are its own."""
    options = ["-noautorotate"] if kind in ("tiff",) else []
    data = run([program("ffmpeg"), "-v", "error", *options, "-xerror", "-i", path, "-frames:v", "1",
                "-f", "image2pipe", "-c:v", "pam", "-"])
    return pixels.read_pam(data)[0]


def through_png(command, path, suffix=".png"):
    """Runs a program that writes a file, and reads this file."""
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "out" + suffix)
        run([word.replace("OUT", target).replace("IN", path).replace("FOLDER", folder) for word in command])
        written = sorted(glob.glob(os.path.join(glob.escape(folder), "*.png")), key=os.path.getsize)
        if not written:
            raise Unreadable("nothing was written")
        return max((png(one) for one in written), key=lambda one: one.values.shape[0] * one.values.shape[1])


def png(path):
    """A PNG with all of its bits; linear light, if a profile of libjxl states it."""
    opener = module("PIL.Image")
    with opener.open(path) as opened:
        profile = opened.info.get("icc_profile", b"").replace(b"\0", b"")
    try:
        with open(path, "rb") as file:
            array = module("imagecodecs").png_decode(file.read())
    except ImportError:
        return pillow(path, "png")
    return image(array, alpha=array.ndim == 3 and array.shape[2] in (2, 4), linear=True if b"_Rel_Lin" in profile else None)


def djxl(path, kind):
    """djxl of libjxl. It neither divides by alpha nor widens 9 to 15 bits."""
    return as_stored(through_png([program("djxl"), "--quiet", "IN", "OUT"], path))


def as_stored(result):
    """The samples of libjxl's tools: if the largest one is full in fewer bits than 16, these are the bits."""
    largest = round(float(result.values.max()) * 65535)
    if result.step == 1 / 65535 and 255 < largest < 65535 and largest & largest + 1 == 0:
        result = result._replace(values=result.values * np.float32(65535 / largest), step=1 / largest)
    return result._replace(premultiplied=None)


def icotool(path, kind):
    """icotool of icoutils: the largest image."""
    return through_png([program("icotool"), "-x", "-o", "FOLDER", "IN"], path)


def icns2png(path, kind):
    """icns2png of icnsutils: the largest image."""
    return through_png([program("icns2png"), "-x", "-o", "FOLDER", "IN"], path)


def openjpeg(path, kind):
    """opj_decompress of OpenJPEG, as one PGX for each component."""
    with tempfile.TemporaryDirectory() as folder:
        run([program("opj_decompress"), "-i", path, "-o", os.path.join(folder, "out.pgx")])
        return from_components(sorted(glob.glob(os.path.join(glob.escape(folder), "*.pgx"))))


def enlarged(array, height, width):
    """Repeats the samples of a component with fewer ones."""
    down, across = -(-height // array.shape[0]), -(-width // array.shape[1])
    return array.repeat(down, 0).repeat(across, 1)[:height, :width]


def from_components(paths, alpha=None):
    """An Image of PGX files: components of gray or RGB, with alpha if there is one more."""
    components = []
    for path in paths:
        with open(path, "rb") as file:
            components.append(pixels.read_pgx(file.read()))
    if not components:
        raise Unreadable("no component")
    height, width = (max(one.shape[axis] for one, _ in components) for axis in (0, 1))
    is_even = all(one.shape == (height, width) for one, _ in components)
    # Three components of different sizes are luminance and color differences.
    if len(components) > 4 or not is_even and len(components) not in (2, 4):
        raise OtherColors()
    planes = [enlarged(one, height, width) / ((1 << bits) - 1) for one, bits in components]
    step = 1 / ((1 << max(bits for _, bits in components)) - 1)
    has_alpha = len(components) in (2, 4) if alpha is None else alpha
    return image(np.stack(planes, axis=2), alpha=has_alpha)._replace(step=step)


# References that belong to a suite


def bmpsuite(path, kind):
    """The images next to the file's name on the page of bmpsuite, for its files and the copies in other suites."""
    parts = os.path.abspath(path).split(os.sep)
    if kind != "bmp" or parts[-2] not in ("g", "q", "b"):
        raise OtherColors()
    roots = (os.sep.join(parts[:depth] + ["bmpsuite", "html"]) for depth in range(len(parts) - 2, 1, -1))
    root = next((one for one in roots if os.path.exists(os.path.join(one, "bmpsuite.html"))), None)
    if root is None:
        raise OtherColors()
    with open(os.path.join(root, "bmpsuite.html"), errors="replace") as file:
        rows = file.read().split("<tr")
    sources = [source for row in rows if re.search(r'[/>"]' + re.escape(os.path.basename(path)), row)
               for source in re.findall(r'src="([^"]+\.(?:png|jpg))"', row)]
    if not sources:
        raise OtherColors()
    return [pillow(os.path.normpath(os.path.join(root, source)), "png") for source in sources]


def jxl_conformance(path, kind):
    """ref.png next to the file; of an animation, its first frame."""
    reference = os.path.join(os.path.dirname(path), "ref.png")
    if not os.path.exists(reference):
        raise OtherColors()
    return png(reference)


# The peak errors that ITU-T T.803 allows decoders of class 1, in steps of the samples.
PEAKS = {"p0_04": 6, "p0_05": 2, "p0_06": 635, "p1_02": 6, "p1_03": 2, "p1_04": 624, "p1_05": 40, "p1_06": 2}


def jpeg2000_conformance(path, kind):
    """Components in PGX, those of class 1 at full size, in openjpeg-data and OpenHTJ2K; TIFF and PNM for other files."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    number = re.sub(r"^(?:p|ds)(\d)_(?:h[tm]_)?(\d\d).*", r"p\1_\2", stem)
    base = folder.replace("/input/", "/baseline/")
    for place, dash in ((base, "_"), (folder + "/references", "-")):
        found = sorted(glob.glob(os.path.join(glob.escape(place), f"c1{number}{dash}[0-9].pgx")))
        # The reference of p0_08 is for half the size.
        if found and number != "p0_08":
            result = from_components(found)
            return result._replace(tolerance=PEAKS.get(number, 0) * result.step)
    for other in (f"jp2_{stem[4:]}.tif" if stem.startswith("file") else "", stem + ".ppm", stem + ".pgm"):
        if other and base != folder and os.path.exists(os.path.join(base, other)):
            return pillow(os.path.join(base, other), "png")
    raise OtherColors()


JUDGES = {call.__name__: call for call in (
    pillow, tifffile, libtiff, imagecodecs, opencv, jpegsof3, psd_tools, openexr, imagemagick, ffmpeg, djxl, icotool, icns2png,
    openjpeg, bmpsuite, jxl_conformance, jpeg2000_conformance)}
# References that belong to a suite, and their format.
REFERENCES = {"bmpsuite": "bmp", "jxl_conformance": "jxl", "jpeg2000_conformance": "jp2"}
