extension KnownFormat {
    private static let icons: [String] = [
        "\u{01}", "\u{02}", "\u{03}", "\u{04}", "\u{05}", "\u{06}", "\u{07}", "\u{08}",
    ]

    /// Images for the web, for print and for programs.
    static let stills: [KnownFormat] = [
        KnownFormat("jpeg", "JPEG", "image/jpeg", "public.jpeg", "jpg jpeg", [[at(0, "\u{FF}\u{D8}\u{FF}")]]),
        KnownFormat("jpeg-ls", "JPEG-LS", "image/jls", "", "jls", [[at(0, "\u{FF}\u{D8}\u{FF}\u{F7}")]]),
        KnownFormat("png", "PNG", "image/png", "public.png", "png", [[at(0, "\u{89}PNG\r\n\u{1A}\n")]]),
        KnownFormat("mng", "MNG", "image/x-mng", "", "mng", [[at(0, "\u{8A}MNG\r\n\u{1A}\n")]]),
        KnownFormat("jng", "JNG", "image/x-jng", "", "jng", [[at(0, "\u{8B}JNG\r\n\u{1A}\n")]]),
        KnownFormat("gif", "GIF", "image/gif", "com.compuserve.gif", "gif", [[at(0, "GIF87a")], [at(0, "GIF89a")]]),
        KnownFormat("webp", "WebP", "image/webp", "org.webmproject.webp", "webp", [[riff("WEBP")]]),
        KnownFormat(
            "avif", "AVIF", "image/avif", "public.avif", "avif avifs",
            [[brands("avif,avis")], [at(4, "ftypmif3avif")]], rank: 2),
        KnownFormat(
            "heic", "HEIC", "image/heic", "public.heic", "heic heics",
            [[brands("heic,heix,hevc,hevx,heim,heis")], [at(4, "ftypmif3heic")]],
            rank: 2),
        KnownFormat("vvic", "VVC image", "image/vvic", "", "vvic", [[brands("vvic,vvis")]], rank: 2),
        KnownFormat("hej2k", "HEIF with JPEG 2000", "image/hej2k", "", "hej2", [[brands("j2ki")]], rank: 2),
        KnownFormat("heif", "HEIF", "image/heif", "public.heif", "heif hif", [[brands("mif1,msf1")]], rank: 1),
        KnownFormat(
            "jxl", "JPEG XL", "image/jxl", "public.jpeg-xl", "jxl",
            [[at(0, "\u{FF}\u{0A}")], [at(0, "\0\0\0\u{0C}JXL \r\n\u{87}\n")]]),
        KnownFormat(
            "jp2", "JPEG 2000", "image/jp2", "public.jpeg-2000", "jp2 j2k jpf jpx jpm",
            [[at(0, "\0\0\0\u{0C}jP  \r\n\u{87}\n")], [at(0, "\u{FF}\u{4F}\u{FF}\u{51}")]]),
        KnownFormat("jxr", "JPEG XR", "image/jxr", "", "jxr wdp hdp", [[at(0, "II\u{BC}")]]),
        KnownFormat("jbig2", "JBIG2", "image/x-jb2", "", "jb2 jbig2", [[at(0, "\u{97}JB2\r\n\u{1A}\n")]]),
        KnownFormat(
            "tiff", "TIFF", "image/tiff", "public.tiff", "tiff tif",
            [[at(0, "II*\0")], [at(0, "MM\0*")], [at(0, "II+\0\u{08}\0\0\0")], [at(0, "MM\0+\0\u{08}\0\0")]]),
        KnownFormat(
            "bmp", "BMP", "image/bmp", "com.microsoft.bmp", "bmp dib",
            [[at(0, "BM"), at(6, "\0\0\0\0"), at(15, "\0\0\0")]]),
        KnownFormat(
            "ico", "ICO", "image/vnd.microsoft.icon", "com.microsoft.ico", "ico",
            icons.map { [at(0, "\0\0\u{01}\0\($0)\0"), at(9, "\0")] }),
        KnownFormat(
            "cur", "CUR", "image/x-win-bitmap", "com.microsoft.cur", "cur",
            icons.map { [at(0, "\0\0\u{02}\0\($0)\0"), at(9, "\0")] }),
        KnownFormat("ani", "ANI", "application/x-navi-animation", "", "ani", [[riff("ACON")]]),
        KnownFormat("icns", "ICNS", "image/icns", "com.apple.icns", "icns", [[at(0, "icns")]]),
        KnownFormat("tga", "TGA", "image/x-tga", "com.truevision.tga-image", "tga", [[at(-18, "TRUEVISION-XFILE.\0")]]),
        KnownFormat(
            "pcx", "PCX", "image/vnd.zbrush.pcx", "", "pcx",
            ["\u{01}", "\u{02}", "\u{04}", "\u{08}"].map { [at(0, "\u{0A}\u{05}\u{01}\($0)")] }),
        KnownFormat("dcx", "DCX", "image/x-dcx", "", "dcx", [[at(0, "\u{B1}\u{68}\u{DE}\u{3A}")]]),
        KnownFormat(
            "sgi", "SGI", "image/sgi", "com.sgi.sgi-image", "sgi rgb rgba bw",
            ["\u{01}", "\u{02}"].map { [at(0, "\u{01}\u{DA}\0\($0)\0", mask: "\u{FF}\u{FF}\u{FE}\u{FF}\u{FF}")] }),
        KnownFormat("ras", "Sun raster", "image/x-sun-raster", "", "ras sun", [[at(0, "\u{59}\u{A6}\u{6A}\u{95}")]]),
        KnownFormat("qoi", "QOI", "image/qoi", "", "qoi", [[at(0, "qoif")]]),
        KnownFormat("flif", "FLIF", "image/flif", "", "flif", [[at(0, "FLIF")]]),
        KnownFormat("bpg", "BPG", "image/bpg", "", "bpg", [[at(0, "BPG\u{FB}")]]),
        KnownFormat("farbfeld", "farbfeld", "image/x-farbfeld", "", "ff", [[at(0, "farbfeld")]]),
        KnownFormat(
            "exr", "OpenEXR", "image/x-exr", "com.ilm.openexr-image", "exr", [[at(0, "\u{76}\u{2F}\u{31}\u{01}")]]),
        KnownFormat(
            "hdr", "Radiance HDR", "image/vnd.radiance", "public.radiance", "hdr pic",
            [[at(0, "#?RADIANCE")], [at(0, "#?RGBE")]]),
        KnownFormat("pfm", "PFM", "image/x-portable-floatmap", "", "pfm", [[at(0, "PF\n")], [at(0, "Pf\n")]]),
        KnownFormat("phm", "PHM", "image/x-portable-halfmap", "", "phm", [[at(0, "PH\n")], [at(0, "Ph\n")]]),
        KnownFormat("dpx", "DPX", "image/dpx", "", "dpx", [[at(0, "SDPX")], [at(0, "XPDS")]]),
        KnownFormat("cineon", "Cineon", "image/cineon", "", "cin", [[at(0, "\u{80}\u{2A}\u{5F}\u{D7}")]]),
        KnownFormat(
            "dds", "DDS", "image/vnd.ms-dds", "com.microsoft.dds", "dds", [[at(0, "DDS "), at(4, "\u{7C}\0\0\0")]]),
        KnownFormat("ktx", "KTX", "image/ktx", "org.khronos.ktx", "ktx", [[at(0, "\u{AB}KTX 11\u{BB}\r\n\u{1A}\n")]]),
        KnownFormat(
            "ktx2", "KTX 2", "image/ktx2", "org.khronos.ktx2", "ktx2", [[at(0, "\u{AB}KTX 20\u{BB}\r\n\u{1A}\n")]]),
        KnownFormat("astc", "ASTC", "image/astc", "org.khronos.astc", "astc", [[at(0, "\u{13}\u{AB}\u{A1}\u{5C}")]]),
        KnownFormat("pvr", "PVR", "image/x-pvr", "public.pvr", "pvr", [[at(0, "PVR\u{03}")]]),
        KnownFormat("vtf", "VTF", "image/x-vtf", "", "vtf", [[at(0, "VTF\0")]]),
        KnownFormat("blp", "BLP", "image/x-blp", "", "blp", [[at(0, "BLP1")], [at(0, "BLP2")]]),
        KnownFormat(
            "ilbm", "ILBM", "image/x-ilbm", "", "iff lbm ilbm",
            [[at(0, "FORM"), at(8, "ILBM")], [at(0, "FORM"), at(8, "PBM ")]]),
        KnownFormat("miff", "MIFF", "image/x-miff", "", "miff", [[at(0, "id=ImageMagick")]]),
        KnownFormat("xpm", "XPM", "image/x-xpixmap", "", "xpm", [[at(0, "/* XPM */")]]),
        KnownFormat("xbm", "XBM", "image/x-xbitmap", "", "xbm", [[at(0, "#define "), find("_width ", 256)]]),
        // Version 7; the upper bytes of the depth, the bitmap unit, the bit order and the padding are 0.
        KnownFormat(
            "xwd", "XWD", "image/x-xwindowdump", "", "xwd",
            [
                [
                    at(0, "\0\0"), at(4, "\0\0\0\u{07}"), at(12, "\0\0\0"), at(32, "\0\0\0"),
                    at(36, "\0\0\0\0", mask: "\u{FF}\u{FF}\u{FF}\u{FE}"), at(40, "\0\0\0"),
                ]
            ]),
        KnownFormat("wbmp", "WBMP", "image/vnd.wap.wbmp", "", "wbmp", [[at(0, "\0\0")]], needsExtension: true),
        KnownFormat("pcd", "Photo CD", "image/x-photo-cd", "", "pcd", [[at(2048, "PCD_IPI")]]),
        KnownFormat(
            "rle", "Utah RLE", "image/x-rle", "", "rle", [[at(0, "\u{52}\u{CC}"), at(10, "\u{02}", mask: "\u{F2}")]]),
    ]

    /// Raw images of cameras; most are TIFF files, whose marks precede those of TIFF.
    static let cameras: [KnownFormat] = [
        KnownFormat("dng", "DNG", "image/x-adobe-dng", "com.adobe.raw-image", "dng", [[.tiffTag(50_706)]]),
        KnownFormat(
            "cr2", "Canon CR2", "image/x-canon-cr2", "com.canon.cr2-raw-image", "cr2",
            [[at(0, "II*\0\u{10}\0\0\0CR\u{02}\0")]]),
        KnownFormat(
            "cr3", "Canon CR3", "image/x-canon-cr3", "com.canon.cr3-raw-image", "cr3", [[brands("crx ")]], rank: 2),
        KnownFormat(
            "raf", "Fujifilm RAF", "image/x-fuji-raf", "com.fuji.raw-image", "raf", [[at(0, "FUJIFILMCCD-RAW ")]]),
        KnownFormat(
            "rw2", "Panasonic RW2", "image/x-panasonic-rw2", "com.panasonic.rw2-raw-image", "rw2", [[at(0, "IIU\0")]]),
        KnownFormat(
            "orf", "Olympus ORF", "image/x-olympus-orf", "com.olympus.raw-image", "orf",
            [[at(0, "IIRO")], [at(0, "IIRS")], [at(0, "MMOR")]]),
        KnownFormat("x3f", "Sigma X3F", "image/x-sigma-x3f", "", "x3f", [[at(0, "FOVb")]]),
        KnownFormat("mrw", "Minolta MRW", "image/x-minolta-mrw", "", "mrw", [[at(0, "\0MRM")]]),
    ]

    /// Drawings, documents of editors, and scientific images.
    static let documents: [KnownFormat] = [
        KnownFormat(
            "psd", "Photoshop document", "image/vnd.adobe.photoshop", "com.adobe.photoshop-image", "psd",
            [[at(0, "8BPS\0\u{01}")]]),
        KnownFormat(
            "psb", "large Photoshop document", "image/vnd.adobe.photoshop", "", "psb", [[at(0, "8BPS\0\u{02}")]]),
        KnownFormat("xcf", "GIMP image", "image/x-xcf", "", "xcf", [[at(0, "gimp xcf ")]]),
        KnownFormat(
            "ora", "OpenRaster", "image/openraster", "", "ora",
            [[at(0, "PK\u{03}\u{04}"), at(30, "mimetypeimage/openraster")]]),
        KnownFormat(
            "kra", "Krita document", "application/x-krita", "", "kra",
            [[at(0, "PK\u{03}\u{04}"), at(30, "mimetypeapplication/x-krita")]]),
        KnownFormat(
            "svg", "SVG", "image/svg+xml", "public.svg-image", "svg svgz",
            [[.xmlRoot(Array("svg".utf8), namespace: nil)], [.gzip(.xmlRoot(Array("svg".utf8), namespace: nil))]]),
        KnownFormat("pdf", "PDF", "application/pdf", "com.adobe.pdf", "pdf", [[at(0, "%PDF-")]]),
        KnownFormat(
            "eps", "EPS", "application/postscript", "com.adobe.encapsulated-postscript", "eps",
            [[at(0, "%!PS-Adobe-"), find(" EPSF-", 32)], [at(0, "\u{C5}\u{D0}\u{D3}\u{C6}")]]),
        KnownFormat("ps", "PostScript", "application/postscript", "com.adobe.postscript", "ps", [[at(0, "%!PS")]]),
        KnownFormat("emf", "EMF", "image/emf", "com.microsoft.emf", "emf", [[at(0, "\u{01}\0\0\0"), at(40, " EMF")]]),
        KnownFormat("wmf", "WMF", "image/wmf", "com.microsoft.wmf", "wmf", [[at(0, "\u{D7}\u{CD}\u{C6}\u{9A}")]]),
        KnownFormat(
            "pict", "PICT", "image/x-pict", "com.apple.pict", "pict pct", [[at(522, "\0\u{11}\u{02}\u{FF}\u{0C}\0")]]),
        KnownFormat("djvu", "DjVu", "image/vnd.djvu", "", "djvu djv", [[at(0, "AT&TFORM")]]),
        KnownFormat("fits", "FITS", "image/fits", "", "fits fit", [[at(0, "SIMPLE  =")]]),
        KnownFormat("dicom", "DICOM", "application/dicom", "", "dcm", [[at(128, "DICM")]]),
        KnownFormat("vicar", "VICAR", "image/x-vicar", "", "vicar", [[at(0, "LBLSIZE=")]]),
    ]

    /// Videos, whose brands follow those of images.
    static let containers: [KnownFormat] = [
        KnownFormat(
            "mj2", "Motion JPEG 2000 video", "video/mj2", "", "mj2 mjp2",
            [
                [brands("mjp2,mj2s")],
                [at(0, "\0\0\0\u{0C}jP  \r\n\u{87}\n"), at(16, "ftypmjp2")],
                [at(0, "\0\0\0\u{0C}jP  \r\n\u{87}\n"), at(16, "ftypmj2s")],
            ], isImage: false),
        KnownFormat(
            "mov", "QuickTime video", "video/quicktime", "com.apple.quicktime-movie", "mov", [[brands("qt  ")]],
            isImage: false),
        KnownFormat(
            "mp4", "MP4 video", "video/mp4", "public.mpeg-4", "mp4 m4v",
            [[brands("isom,iso2,iso5,iso6,mp41,mp42,avc1,M4V ")]], isImage: false),
        KnownFormat(
            "webm", "WebM video", "video/webm", "org.webmproject.webm", "webm",
            [[at(0, "\u{1A}\u{45}\u{DF}\u{A3}"), find("webm", 64)]], isImage: false),
        KnownFormat(
            "mkv", "Matroska video", "video/x-matroska", "", "mkv", [[at(0, "\u{1A}\u{45}\u{DF}\u{A3}")]],
            isImage: false),
        KnownFormat("avi", "AVI video", "video/x-msvideo", "public.avi", "avi", [[riff("AVI ")]], isImage: false),
        KnownFormat(
            "flic", "FLIC animation", "video/x-flic", "", "fli flc",
            [[at(4, "\u{11}\u{AF}"), at(12, "\u{08}\0")], [at(4, "\u{12}\u{AF}"), at(12, "\u{08}\0")]],
            isImage: false),
    ]

    /// Files that servers and people take for images.
    static let others: [KnownFormat] = [
        KnownFormat(
            "html", "an HTML page", "text/html", "public.html", "html htm",
            [
                [.xmlRoot(Array("html".utf8), namespace: nil)], [find("<!DOCTYPE html", 64)],
                [find("<!doctype html", 64)],
                [at(0, "<html")], [at(0, "<HTML")],
            ], isImage: false),
        KnownFormat(
            "zip", "a ZIP archive", "application/zip", "public.zip-archive", "zip", [[at(0, "PK\u{03}\u{04}")]],
            isImage: false),
        KnownFormat(
            "gzip", "a gzip file", "application/gzip", "org.gnu.gnu-zip-archive", "gz", [[at(0, "\u{1F}\u{8B}\u{08}")]],
            isImage: false),
        KnownFormat(
            "7z", "a 7z archive", "application/x-7z-compressed", "", "7z", [[at(0, "7z\u{BC}\u{AF}\u{27}\u{1C}")]],
            isImage: false),
        KnownFormat(
            "rar", "a RAR archive", "application/vnd.rar", "", "rar", [[at(0, "Rar!\u{1A}\u{07}")]], isImage: false),
        KnownFormat(
            "elf", "an ELF program or library", "application/x-elf", "", "so", [[at(0, "\u{7F}ELF")]], isImage: false),
    ]
}
