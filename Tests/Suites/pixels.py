"""Images as arrays, the comparison of two of them, and readers of the simplest formats. Needs numpy only."""
import struct
from typing import NamedTuple

import numpy as np

# Floats have 24 significant bits here, and those of the formats 11 to 24.
FLOAT_STEP = 1e-6


class Unreadable(Exception):
    """A decoder refused the file, or a reader does not know this variant."""


class OtherColors(Exception):
    """A decoder reads the file, but delivers colors that cannot be compared, such as RGB made from inks."""


class Image(NamedTuple):
    """The samples of an upright image: `values` is (height, width, channels) from 0 to 1, or beyond for floats."""
    values: np.ndarray
    step: float  # between two neighboring values; 0 for floats
    alpha: bool = False
    inks: bool = False  # cyan, magenta, yellow, black; 0 is no ink
    premultiplied: bool | None = False  # None: as the file stores it
    linear: bool | None = None  # linear light, or the curve of sRGB; None: the samples as the file stores them
    tolerance: float = 0  # the error that a specification allows

    @property
    def size(self):
        return f"{self.values.shape[1]}x{self.values.shape[0]}"


def image(array, maximum=None, **options):
    """An Image from integers of 0 to `maximum` (default: that of the type), or from floats."""
    array = np.asarray(array)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or not array.size:
        raise Unreadable(f"an array of the shape {array.shape}")
    if array.dtype == bool:
        array, maximum = array.astype(np.uint8), 1
    if array.dtype.kind == "f":
        return Image(array.astype(np.float32), 0, **options)
    maximum = maximum or np.iinfo(array.dtype).max
    wide = np.float64 if maximum > 65535 else np.float32
    return Image((array.astype(wide) / maximum).astype(np.float32), 1 / maximum, **options)


def upright(array, orientation):
    """Turns the stored rows as the orientation of Exif and TIFF states."""
    if orientation in (5, 6, 7, 8):
        array = array.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    return array


def encoded(linear):
    """The curve of sRGB, for values of 0 to 1; light beyond is cut off."""
    linear = np.clip(np.nan_to_num(linear, nan=0.0), 0, 1)
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055).astype(np.float32)


def decoded(values):
    """Linear light of the curve of sRGB."""
    return np.where(values <= 0.04045, values / 12.92, ((np.maximum(values, 0) + 0.055) / 1.055) ** 2.4).astype(np.float32)


class Difference(NamedTuple):
    """How two images compare: `worst` in steps of 8 bits, `share` of the samples that differ."""
    verdict: str  # equal, within, differs, size
    worst: float = 0
    share: float = 0

    def __str__(self):
        if self.verdict == "size":
            return "another size"
        return self.verdict if self.verdict == "equal" else f"{self.verdict} {self.worst:.2f} in {self.share:.2%}"


def canonical(one, has_alpha, is_premultiplied, is_encoded, is_cut=False):
    """Color channels and alpha in the common layout: RGB or inks, alpha if either image has it."""
    colors = one.values[:, :, :-1] if one.alpha else one.values
    alpha = one.values[:, :, -1:] if one.alpha else np.ones(colors.shape[:2] + (1,), np.float32)
    is_multiplied = one.premultiplied
    if one.premultiplied and one.step == 0:
        # The curve and the limits of integers belong to straight colors.
        colors = np.divide(colors, alpha, out=np.zeros_like(colors), where=alpha > 0)
        is_multiplied = False
    if is_encoded and one.linear:
        colors = encoded(colors)
    elif is_cut:
        colors = np.clip(colors, 0, 1)
    if is_premultiplied and not is_multiplied:
        colors = colors * alpha
    if colors.shape[2] == 1:
        colors = np.repeat(colors, 3, axis=2)
    return np.concatenate([colors, alpha], axis=2) if has_alpha else colors


def compare(ours, theirs):
    """Compares with half a step of the coarser samples as equal; colors of clear pixels do not count."""
    if ours.values.shape[:2] != theirs.values.shape[:2]:
        return Difference("size")
    if ours.inks != theirs.inks:
        raise OtherColors()
    if theirs.premultiplied is None:
        theirs = theirs._replace(premultiplied=ours.premultiplied)
    if theirs.linear and not ours.linear and theirs.step > 0 and not ours.premultiplied:
        # Integers of linear light are coarse in the dark: the curve would enlarge their steps.
        count = ours.values.shape[2] - ours.alpha
        values = np.concatenate([decoded(ours.values[:, :, :count]), ours.values[:, :, count:]], axis=2)
        # Half a step of each, that of the curve at its steepest place.
        rounding = 1.14 * ours.step + theirs.step / 2 + FLOAT_STEP
        ours = ours._replace(values=values, linear=True, tolerance=rounding)
    has_alpha = ours.alpha or theirs.alpha
    is_premultiplied = any(one.premultiplied and one.step > 0 for one in (ours, theirs))
    is_cut = bool(ours.step) != bool(theirs.step)  # integers hold no light beyond white
    # A judge that delivers light, next to an encoded image of ours; stored samples are compared as they are.
    is_encoded = theirs.linear is True and not ours.linear or theirs.linear is False and ours.linear is True
    a, b = (canonical(one, has_alpha, is_premultiplied, is_encoded, is_cut) for one in (ours, theirs))
    if a.shape != b.shape:
        raise OtherColors()
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b) / np.maximum(1, np.abs(b))
    apart[~finite] = 1
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    apart[same] = 0
    if has_alpha:
        apart[(a[:, :, -1] == 0) & (b[:, :, -1] == 0)] = 0
    tolerance = max(ours.step, theirs.step) / 2 + FLOAT_STEP
    worst = float(apart.max())
    if worst <= tolerance:
        return Difference("equal", worst * 255)
    allowed = max(1.001 / 255, ours.tolerance, theirs.tolerance)
    return Difference("within" if worst <= allowed else "differs", worst * 255, float((apart > tolerance).mean()))


def read_pam(data):
    """The images of a stream in PAM, which ImageMagick and FFmpeg write."""
    images, position = [], 0
    while data[position:position + 3] == b"P7\n":
        fields = {}
        while not fields.get("ENDHDR"):
            end = data.find(b"\n", position)
            if end < 0:
                raise Unreadable("a cut header of PAM")
            key, _, value = data[position:end].decode("latin-1").partition(" ")
            # A comment of ImageMagick may have lines without its mark.
            fields[key] = value or "1"
            position = end + 1
        width, height, depth, maximum = (int(fields[key]) for key in ("WIDTH", "HEIGHT", "DEPTH", "MAXVAL"))
        kind = np.dtype(">u2" if maximum > 255 else "u1")
        length = width * height * depth * kind.itemsize
        if len(data) < position + length:
            raise Unreadable("cut rows of PAM")
        array = np.frombuffer(data, kind, width * height * depth, position).reshape(height, width, depth)
        layout = fields.get("TUPLTYPE", "")
        images.append(image(array, maximum, alpha=layout.endswith("ALPHA"), inks=layout.startswith("CMYK")))
        position += length
    if not images:
        raise Unreadable("no image in PAM")
    return images


def read_pgx(data):
    """One component in PGX, the format of the references of JPEG 2000: samples and their number of bits."""
    end = data.index(b"\n")
    words = data[:end].decode("latin-1").replace("+", " + ").replace("-", " - ").split()
    order, signed, bits, width, height = words[1], "-" in words, *map(int, words[-3:])
    kind = "i" if signed else "u"
    size = 1 if bits <= 8 else 2 if bits <= 16 else 4
    array = np.frombuffer(data, (">" if order == "ML" else "<") + kind + str(size), width * height, end + 1)
    array = array.reshape(height, width).astype(np.int64)
    return array + (1 << bits - 1 if signed else 0), bits


def read_plain_tiff(data):
    """An uncompressed TIFF of the tool under test: strips, channels side by side, 8 to 32 bits."""
    if data[:4] not in (b"II*\0", b"MM\0*"):
        raise Unreadable("no TIFF")
    order = "<" if data[:2] == b"II" else ">"
    start, = struct.unpack_from(order + "I", data, 4)
    count, = struct.unpack_from(order + "H", data, start)
    tags = {258: (1,), 277: (1,), 284: (1,), 339: (1,), 338: (), 259: (1,), 274: (1,)}
    for entry in range(start + 2, start + 2 + 12 * count, 12):
        tag, kind, length = struct.unpack_from(order + "HHI", data, entry)
        letter, size = {1: ("B", 1), 3: ("H", 2), 4: ("I", 4)}.get(kind, (None, 0))
        if letter is None:
            continue
        place = entry + 8 if size * length <= 4 else struct.unpack_from(order + "I", data, entry + 8)[0]
        tags[tag] = struct.unpack_from(f"{order}{length}{letter}", data, place)
    if tags[259][0] != 1 or tags[284][0] != 1 or tags[274][0] != 1:
        raise Unreadable("a TIFF that is packed, planar or turned")
    width, height, bits, channels = tags[256][0], tags[257][0], tags[258][0], tags[277][0]
    rows = b"".join(data[place:place + length] for place, length in zip(tags[273], tags[279]))
    kind = np.dtype(order + ("f" if tags[339][0] == 3 else "u") + str(bits // 8))
    array = np.frombuffer(rows, kind, width * height * channels).reshape(height, width, channels)
    extra = tags[338]
    return image(array, alpha=bool(extra) and extra[0] in (1, 2), inks=tags[262][0] == 5,
                 premultiplied=bool(extra) and extra[0] == 1)
