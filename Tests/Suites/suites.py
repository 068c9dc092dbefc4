"""The table of independent suites, the judges of each format, and the known exceptions."""
import re
from typing import NamedTuple

from decoders import jpeg_bits
from pixels import Unreadable


class Format(NamedTuple):
    names: str  # of its files, as a regular expression without the dot
    judges: tuple[str, ...]
    options: tuple[str, ...] = ()  # of `coderhost convert`
    accepts: str | None = None  # a function of the table below that looks at the content


FORMATS = {
    "bmp": Format("bmp|dib", ("pillow", "imagemagick", "ffmpeg")),
    "ico": Format("ico", ("pillow", "imagemagick", "icotool")),
    "cur": Format("cur", ("pillow", "imagemagick", "icotool")),
    "icns": Format("icns", ("pillow", "icns2png")),
    "tiff": Format("tiff?|tx", ("libtiff", "tifffile", "pillow"), ("-O", "tiff.float=true")),
    "jxl": Format("jxl", ("djxl", "imagecodecs", "pillow")),
    "tga": Format("tga|icb|vda|vst", ("pillow", "imagemagick", "ffmpeg")),
    "pcx": Format("pcx", ("pillow", "imagemagick", "ffmpeg")),
    "sgi": Format("sgi|rgb|rgba|bw", ("pillow", "imagemagick", "ffmpeg")),
    "ras": Format("ras|sun", ("pillow", "imagemagick", "ffmpeg")),
    "dds": Format("dds", ("pillow", "imagecodecs", "imagemagick", "ffmpeg")),
    "qoi": Format("qoi", ("pillow", "imagecodecs")),
    "pfm": Format("pfm", ("opencv", "pillow", "imagemagick")),
    "hdr": Format("hdr", ("imagecodecs", "opencv", "imagemagick"), accepts="is_radiance"),
    "xbm": Format("xbm", ("pillow", "imagemagick", "ffmpeg")),
    "xpm": Format("xpm", ("pillow", "imagemagick", "ffmpeg")),
    "wbmp": Format("wbmp", ("imagemagick",)),
    "psd": Format("psd|psb", ("psd_tools", "imagemagick", "pillow", "ffmpeg")),
    "jp2": Format("jp2|j2k|j2c|jpc|jph|jhc", ("openjpeg", "imagecodecs", "pillow", "ffmpeg")),
    "exr": Format("exr", ("openexr", "imagemagick")),
    # Only the kinds that libjpeg-turbo 2 cannot read.
    "jpeg": Format("jpe?g", ("imagecodecs", "jpegsof3", "ffmpeg"), accepts="is_rare_jpeg"),
}


def is_radiance(path):
    with open(path, "rb") as file:
        return file.read(2) == b"#?"


def is_rare_jpeg(path):
    """A JPEG without loss, or of more than 8 bits."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return jpeg_bits(data) != 8 or re.search(rb"\xff\xc3\0.\x08", data[:4096], re.S) is not None
    except Unreadable:
        return False


class Suite(NamedTuple):
    name: str  # the folder under SUITES
    repository: str
    revision: str
    formats: dict[str, str]  # format: folders and files in the suite, as a regular expression
    judges: tuple[str, ...] = ()  # references of the suite itself
    options: tuple[str, ...] = ()
    is_damaged: str = r"(?!)"  # files that are damaged on purpose
    prepare: str = ""  # command to run in the folder


SUITES = [
    Suite("bmpsuite", "jsummers/bmpsuite", "555e43a", {"bmp": r"[gqb]/"}, ("bmpsuite",), ("--to-srgb",), r"b/",
          prepare="mkdir -p g q b x && make"),
    Suite("Pillow", "python-pillow/Pillow", "4e5f09f5",
          {one: r"Tests/" for one in ("bmp", "ico", "cur", "icns", "tiff", "tga", "pcx", "sgi", "ras", "dds", "qoi", "pfm",
                                      "xbm", "xpm", "psd", "jp2")}, ("bmpsuite",),
          is_damaged=r".*(broken|mmap_error|oob|crash|timeout|oom|bad_|hopper_bad|invalid|corrupt|truncated|/b/|unsupported)"),
    Suite("OpenImageIO-images", "AcademySoftwareFoundation/OpenImageIO-images", "3ff6eac",
          {one: "" for one in ("bmp", "ico", "tiff", "tga", "dds", "pfm", "psd", "jp2", "exr")}, is_damaged=r".*broken/"),
    Suite("metadata-extractor-images", "drewnoakes/metadata-extractor-images", "4beba640",
          {one: "" for one in ("bmp", "ico", "cur", "icns", "tiff", "tga", "pcx", "psd", "jp2")},
          ("bmpsuite",), is_damaged=r".*(ImageTestSuite|bmpsuite/b)/"),
    Suite("libtiff.net", "BitMiracle/libtiff.net", "5ad1a80", {"tiff": "TestCase/|Samples/"}),
    Suite("libvips", "libvips/libvips", "29fd120",
          {one: r"test/test-suite/images/" for one in ("bmp", "ico", "cur", "tiff", "tga", "sgi", "hdr", "jp2", "exr")}),
    Suite("qtimageformats", "qt/qtimageformats", "215d19a",
          {one: "" for one in ("tiff", "tga", "dds", "icns", "wbmp", "bmp", "jp2")}),
    Suite("seed-corpora", "libjpeg-turbo/seed-corpora", "178c25b", {"bmp": "", "tga": "", "jpeg": ""}, is_damaged=""),
    Suite("conformance", "libjxl/conformance", "4bf0535", {"jxl": ""}, ("jxl_conformance",)),
    Suite("codec-corpus", "imazen/codec-corpus", "55decfe", {"jxl": "jxl/"}),
    Suite("psd-tools", "psd-tools/psd-tools", "31d5b6b9", {"psd": ""}),
    Suite("openjpeg-data", "uclouvain/openjpeg-data", "a428429",
          {"jp2": "input/", "tiff": "input/", "bmp": "input/"}, ("jpeg2000_conformance",)),
    Suite("OpenHTJ2K", "osamu620/OpenHTJ2K", "19a544b", {"jp2": "conformance_data/"}, ("jpeg2000_conformance",)),
    Suite("openexr-images", "AcademySoftwareFoundation/openexr-images", "e38ffb0", {"exr": ""},
          is_damaged="Damaged/"),
]

# Suite and format, files, reason, and a pattern of the message if only refusals with it are meant. The plugin is right, or its README names the missing feature.
EXCEPTIONS = [
    ("*/bmp", "*b/rletopdown.bmp", "Windows forbids packed bitmaps that begin at the top; the judges read them."),
    ("seed-corpora/bmp", "*", "Windows forbids packed bitmaps that begin at the top; the judges read them.",
     "only uncompressed bitmaps can begin at the top"),
    ("*/bmp", "*.dib", "A bitmap without the header of a file is the content of a clipboard, not a file."),
    ("bmpsuite/bmp", "q/rgb24prof2.bmp", "The reference ignores the curve of the profile; Little CMS agrees within 1."),
    ("*/bmp", "*q/pal1huff.bmp", "FFmpeg reads Huffman codes as bits; the pixels equal bmpsuite's pal1.png."),
    ("Pillow/ico", "*decompression_bomb.ico", "The image has 4 gigapixels, above the default limit."),
    ("*/icns", "*pillow3.icns", "JPEG 2000 in an icon is not supported."),
    ("*/icns", "*test-jp2.icns", "JPEG 2000 in an icon is not supported."),
    ("*/icns", "*test-png.icns", "Both judges lose the transparency of a palette; the PNG alone is equal."),
    ("*/tga", "*[CU]TC32.TGA", "The extension area denies alpha; the judges do not read it."),
    ("*/dds", "*srgb.dds", "FFmpeg swaps red and blue of sRGB formats; dds/_src.png is equal."),
    ("*/dds", "*rxgb.dds", "FFmpeg shows the stored red as alpha, too; the colors are within 1."),
    ("*/dds", "*RXGB.dds", "FFmpeg shows the stored red as alpha, too; the colors are within 1."),
    ("*/dds", "*[Aa]8.dds", "FFmpeg shows alpha as gray; Direct3D defines it as alpha of black."),
    ("*/dds", "*A4L4.dds", "Pillow reads 4 bits as 8, without their alpha."),
    ("*/dds", "*DXT[24].dds", "FFmpeg multiplies premultiplied colors again; the same blocks as DXT3 and DXT5 are equal."),
    ("*/dds", "*/P4.dds", "Palettes of 4 bits are refused."),
    ("*/dds", "*8V8U8.dds", "Bump maps are refused."),
    ("*/dds", "*U*Y*2.dds", "YUV is refused."),
    ("*/dds", "*UYVY.dds", "YUV is refused."),
    ("*/tiff", "*G3 Premature EOL.tif", "libtiff 4.5 fails at the damaged line; version 4.7 of the judges goes on."),
    ("*/exr", "v2/*.exr", "Deep data is refused, as the README of the plugin states."),
    ("*/exr", "ScanLines/Tree.exr", "It states other primaries, which the judges ignore; with them the colors are within 0.01."),
    ("*/psd", "*4x4_16bit_multichannel.psd", "Three inks without colors: the first is shown as gray; the judges take them for RGB."),
    ("codec-corpus/jxl", "*blendmodes.jxl", "The judges write 12 bits wrongly; the reference of libjxl/conformance is equal."),
    ("codec-corpus/jxl", "*multiple_layers_noise_spline.jxl",
     "libjxl 0.7 gives the noise of layers another seed than 0.11; the difference is that noise alone."),
    ("OpenHTJ2K/jp2", "*/ds?_h?_*.j2k", "OpenJPEG 2.5.0 reads no such HTJ2K: more than 3 passes, mixed blocks, regions of interest.",
     "OpenJPEG does not support this codestream: *"),
    ("OpenHTJ2K/jp2", "*/ds?_h?_*.j2k", "OpenJPEG 2.5.0 reports damage in HTJ2K with EPH markers and some block lengths.",
     "this HTJ2K codestream is not supported, or it is damaged: *"),
    ("*/jp2", "*p0_13.j2k", "Three of its 257 components are shown; the reference has four of them."),
    ("*/psd", "*", "The white image stands for layers that were saved without a composite; psd-tools reads none.",
     "the file has layers without a composite image"),
    ("*/psd", "*psd_indexed_trans.psd", "One color of the palette is clear; the judges ignore its resource."),
    ("*/pcx", "*GMARBLES.PCX", "The palette is missing; FFmpeg shows another one."),
    ("*/jxl", "*patches*.jxl", "libjxl 0.7 cannot restore the profile: the plugin delivers BT.2020, the judges do not."),
    ("*/jxl", "*alpha_premultiplied*.jxl", "Colors under nearly no alpha: the reference divides by alpha before it rounds."),
]
