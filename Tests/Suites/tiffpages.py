"""First pages of TIFF: samples by libtiff's calls for strips and tiles, or by tifffile, and their meaning by the tags."""
import ctypes
import ctypes.util

import numpy as np

from pixels import OtherColors, Unreadable, image, upright

GRAY, RGB, PALETTE, CMYK, YCBCR, LAB, ICCLAB, ITULAB = (0, 1), 2, 3, 5, 6, 8, 9, 10
LOGL, LOGLUV = 32844, 32845
COLORS = {0: 1, 1: 1, 2: 3, 3: 1, 5: 4, 6: 3, 8: 3, 9: 3, 10: 3, LOGL: 1, LOGLUV: 3}


def by_meaning(samples, bits, is_float, is_signed, photometric, extra, colormap, orientation):
    """An Image of (height, width, channels) raw samples."""
    if photometric not in COLORS:
        raise OtherColors()
    channels = min(COLORS[photometric], samples.shape[2])
    alphas = [index for index, kind in enumerate(extra) if kind in (1, 2) and channels + index < samples.shape[2]]
    # The plugin documents that it drops alpha next to inks.
    alpha = alphas[0] if alphas and photometric in (0, 1, 2) else None
    premultiplied = alpha is not None and extra[alpha] == 1
    picked = samples[:, :, list(range(channels)) + ([] if alpha is None else [channels + alpha])]
    if photometric == PALETTE:
        table = np.asarray(colormap, np.uint32).reshape(3, -1)
        if table.max(initial=0) < 256:
            table = table * 257  # a frequent mistake: entries of 8 bits
        index = picked[:, :, 0].astype(int)
        if index.max() >= table.shape[1]:
            raise Unreadable("an index outside the palette")
        return image(upright(table[:, index].transpose(1, 2, 0), orientation), 65535)
    if photometric in (LAB, ICCLAB, ITULAB, LOGLUV) and channels == 3:
        linear = (from_xyz(picked.astype(np.float64), "E") if photometric == LOGLUV
                  else from_xyz(lab_to_xyz(picked[:, :, :3], bits, photometric), "D50"))
        return image(upright(linear, orientation), linear=True)
    options = dict(alpha=alpha is not None, inks=photometric == CMYK, premultiplied=premultiplied)
    maximum = 1.0 if is_float else float((1 << bits) - 1)
    picked = picked.astype(np.float32 if is_float else np.float64)
    if is_signed and not is_float:
        picked += 1 << bits - 1
    if photometric == 0:
        picked[:, :, 0] = maximum - picked[:, :, 0]
    if is_float:
        return image(upright(picked, orientation), linear=photometric == LOGL, **options)
    result = image(upright(picked / maximum, orientation), **options)
    return result._replace(step=1 / maximum)


def lab_to_xyz(lab, bits, photometric):
    """CIE 1976 L*a*b* of white D50 to XYZ; signed a and b of CIELAB, shifted ones of ICC."""
    full, scale = (255.0, 1) if bits == 8 else (65535.0, 256)
    lab = lab.astype(np.float64)
    lightness = lab[:, :, 0] * 100 / full
    if photometric == LAB:
        a, b = (np.where(lab[:, :, k] >= 1 << bits - 1, lab[:, :, k] - (1 << bits), lab[:, :, k]) / scale for k in (1, 2))
    else:
        a, b = (lab[:, :, k] / scale - 128 for k in (1, 2))
    y = (lightness + 16) / 116
    inverse = lambda t: np.where(t > 6 / 29, t ** 3, 3 * (6 / 29) ** 2 * (t - 4 / 29))
    return np.stack([inverse(y + a / 500) * 0.9642, inverse(y), inverse(y - b / 200) * 0.8249], axis=-1)


def from_xyz(xyz, white):
    """XYZ to linear light with the primaries of sRGB; Bradford adaptation from D50, none from equal energy."""
    corners = np.array([[0.64, 0.33], [0.30, 0.60], [0.15, 0.06]])
    primaries = np.array([[x / y, 1, (1 - x - y) / y] for x, y in corners]).T
    d65 = np.array([0.95047, 1, 1.08883])
    if white == "D50":
        cone = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
        ratio = (cone @ d65) / (cone @ np.array([0.9642, 1, 0.8249]))
        xyz = xyz @ (np.linalg.inv(cone) @ np.diag(ratio) @ cone).T
    target = d65 if white == "D50" else np.ones(3)
    matrix = primaries * np.linalg.solve(primaries, target)
    return xyz @ np.linalg.inv(matrix).T


class Library:
    """libtiff through ctypes. Its messages are switched off."""

    def __init__(self):
        name = ctypes.util.find_library("tiff")
        if not name:
            raise ImportError("libtiff")
        self.c = ctypes.CDLL(name)
        self.c.TIFFOpen.restype = ctypes.c_void_p
        for call in ("TIFFStripSize", "TIFFVStripSize", "TIFFTileSize", "TIFFTileRowSize", "TIFFScanlineSize",
                     "TIFFReadEncodedStrip", "TIFFReadEncodedTile"):
            getattr(self.c, call).restype = ctypes.c_ssize_t
        self.c.TIFFSetErrorHandler(None)
        self.c.TIFFSetWarningHandler(None)

    def field(self, tiff, tag, kind, default):
        value = kind(0)
        found = self.c.TIFFGetFieldDefaulted(ctypes.c_void_p(tiff), ctypes.c_uint32(tag), ctypes.byref(value))
        return value.value if found else default

    def read(self, path):
        tiff = self.c.TIFFOpen(path.encode(), b"r")
        if not tiff:
            raise Unreadable("TIFFOpen")
        try:
            return self.page(tiff)
        finally:
            self.c.TIFFClose(ctypes.c_void_p(tiff))

    def page(self, tiff):
        short, long, handle = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_void_p(tiff)
        width, height = self.field(tiff, 256, long, 0), self.field(tiff, 257, long, 0)
        bits, channels = self.field(tiff, 258, short, 1), self.field(tiff, 277, short, 1)
        packing, planar = self.field(tiff, 259, short, 1), self.field(tiff, 284, short, 1)
        kind, orientation = self.field(tiff, 339, short, 1), self.field(tiff, 274, short, 1)
        photometric = self.field(tiff, 262, short, None)
        if photometric is None:
            photometric = 2 if channels >= 3 else 0 if packing in (2, 3, 4) else 1
        if not 0 < width * height <= 1 << 28 or orientation > 8:
            raise Unreadable("its size")
        if packing == 6 or photometric == YCBCR and bits == 8 and not (packing == 7 and planar == 1 and channels == 3):
            return self.rgba(handle, width, height, orientation)
        if packing == 7 and photometric == YCBCR:
            self.c.TIFFSetField(handle, long(65538), ctypes.c_int(1))  # JPEGCOLORMODE_RGB
            photometric = RGB
        if packing in (34676, 34677):
            self.c.TIFFSetField(handle, long(65560), ctypes.c_int(0))  # SGILOGDATAFMT_FLOAT
            bits, kind = 32, 3
        if packing == 32909:
            form = 0 if bits == 8 else 4 if bits == 16 and kind != 3 else 5
            self.c.TIFFSetField(handle, long(65549), ctypes.c_int(form))  # PIXARLOGDATAFMT
            bits, kind = (32, 3) if form == 5 else (bits, kind)
        samples = self.blocks(handle, tiff, width, height, bits, channels, planar, kind)
        return by_meaning(samples, bits, kind == 3, kind == 2, photometric, self.extra(handle), self.colormap(handle, bits)
                          if photometric == PALETTE else None, orientation)

    def rgba(self, handle, width, height, orientation):
        raster = np.zeros((height, width), np.uint32)
        self.c.TIFFSetField(handle, ctypes.c_uint32(274), ctypes.c_int(1))
        if not self.c.TIFFReadRGBAImageOriented(handle, ctypes.c_uint32(width), ctypes.c_uint32(height),
                                                raster.ctypes.data_as(ctypes.c_void_p), 1, 1):
            raise Unreadable("TIFFReadRGBAImage")
        return image(upright(raster.view(np.uint8).reshape(height, width, 4)[:, :, :3], orientation))

    def extra(self, handle):
        count, kinds = ctypes.c_uint16(0), ctypes.POINTER(ctypes.c_uint16)()
        if not self.c.TIFFGetField(handle, ctypes.c_uint32(338), ctypes.byref(count), ctypes.byref(kinds)):
            return []
        return [kinds[index] for index in range(count.value)]

    def colormap(self, handle, bits):
        tables = [ctypes.POINTER(ctypes.c_uint16)() for _ in range(3)]
        if not self.c.TIFFGetField(handle, ctypes.c_uint32(320), *map(ctypes.byref, tables)):
            raise Unreadable("no palette")
        return [[table[index] for index in range(1 << bits)] for table in tables]

    def blocks(self, handle, tiff, width, height, bits, channels, planar, kind):
        long, tiled = ctypes.c_uint32, bool(self.c.TIFFIsTiled(handle))
        if tiled:
            across, down = self.field(tiff, 322, long, 0), self.field(tiff, 323, long, 0)
            size, row = self.c.TIFFTileSize(handle), self.c.TIFFTileRowSize(handle)
            read, count = self.c.TIFFReadEncodedTile, self.c.TIFFNumberOfTiles(handle)
        else:
            across, down = width, min(self.field(tiff, 278, long, height) or height, height)
            size, row = self.c.TIFFVStripSize(handle, long(down)), self.c.TIFFScanlineSize(handle)
            read, count = self.c.TIFFReadEncodedStrip, self.c.TIFFNumberOfStrips(handle)
        if not 0 < size < 1 << 31 or row <= 0 or not across or not down:
            raise Unreadable("the size of its strips")
        together = 1 if planar == 2 else channels
        columns, lines = -(-width // across), -(-height // down)
        result = None
        buffer = ctypes.create_string_buffer(size)
        for number in range(min(count, columns * lines * (channels if planar == 2 else 1))):
            ctypes.memset(buffer, 0, size)
            if read(handle, long(number), buffer, ctypes.c_ssize_t(size)) < 0:
                raise Unreadable(f"strip or tile {number}")
            plane, place = divmod(number, columns * lines)
            y, x = divmod(place, columns)
            rows = np.frombuffer(buffer.raw, np.uint8)[:size // row * row].reshape(-1, row)[:down]
            block = unpacked(rows, bits, across * together, kind).reshape(len(rows), across, together)
            if result is None:
                result = np.zeros((lines * down, columns * across, channels), block.dtype)
            result[y * down:y * down + len(block), x * across:(x + 1) * across,
                   plane:plane + together] = block
        if result is None:
            raise Unreadable("no strips")
        return result[:height, :width]


def unpacked(rows, bits, count, kind):
    """The samples of rows of bytes in the order of this machine."""
    if bits in (8, 16, 32, 64):
        size = bits // 8
        letter = "f" if kind == 3 and bits > 8 else "i" if kind == 2 else "u"
        return np.ascontiguousarray(rows[:, :count * size]).view(f"<{letter}{size}")
    if bits == 24:
        parts = rows[:, :count * 3].reshape(len(rows), count, 3).astype(np.uint32)
        value = parts[:, :, 0] | parts[:, :, 1] << 8 | parts[:, :, 2] << 16
        return float24(value) if kind == 3 else value
    if bits > 32 or kind == 3:
        raise OtherColors()
    single = np.unpackbits(rows, axis=1)[:, :count * bits].reshape(len(rows), count, bits)
    value = np.zeros((len(rows), count), np.uint32)
    for index in range(bits):
        value = value << 1 | single[:, :, index]
    if kind == 2:
        return value.astype(np.int64) - ((value >> bits - 1).astype(np.int64) << bits)
    return value


def float24(value):
    """Floats of one sign, seven exponent and 16 fraction bits."""
    exponent, fraction = value >> 16 & 127, (value & 65535) / 65536
    number = np.where(exponent == 0, fraction * 2.0 ** -62, (1 + fraction) * 2.0 ** (exponent.astype(float) - 63))
    number = np.where(exponent == 127, np.where(fraction == 0, np.inf, np.nan), number)
    return np.where(value >> 23, -number, number).astype(np.float32)
