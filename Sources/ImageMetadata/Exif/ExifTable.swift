/// The kind of value of a tag.
enum ExifKind {
    case plain
    case words([Int: String])
    case exposureTime
    case fNumber
    case apexTime
    case apexAperture
    case compensation
    case unit(String, decimals: Int?)
    case version
    case components
    case comment
    case wideText
    case degrees
    case time
    case lens
    case dotted
    case coded([String: String])
}

/// A tag that the reader knows.
struct ExifTag {
    let name: String
    let kind: ExifKind

    init(_ name: String, _ kind: ExifKind = .plain) {
        self.name = name
        self.kind = kind
    }
}

/// The table of a directory's tags.
///
/// - Source: CIPA DC-008 (Exif 3.0) tables 3 to 15; TIFF 6.0 appendix A; names as exiftool prints them.
enum ExifTable {
    case main, exif, gps, interoperability

    func tag(_ number: Int) -> ExifTag? {
        switch self {
        // Some writers put Exif tags into IFD0 and the reverse.
        case .main: Self.mainTags[number] ?? Self.exifTags[number]
        case .exif: Self.exifTags[number] ?? Self.mainTags[number]
        case .gps: Self.gpsTags[number]
        case .interoperability: Self.interoperabilityTags[number]
        }
    }

    private static let interoperabilityTags: [Int: ExifTag] = [
        1: ExifTag(
            "InteropIndex",
            .coded([
                "R98": "R98 - DCF basic file (sRGB)", "R03": "R03 - DCF option file (Adobe RGB)",
                "THM": "THM - DCF thumbnail file",
            ])),
        2: ExifTag("InteropVersion", .version),
        0x1001: ExifTag("RelatedImageWidth"), 0x1002: ExifTag("RelatedImageHeight"),
    ]

    private static let resolutionUnits = [1: "None", 2: "inches", 3: "cm", 4: "mm", 5: "um"]

    static let mainTags: [Int: ExifTag] = [
        0xFE: ExifTag(
            "SubfileType",
            .words([0: "Full-resolution image", 1: "Reduced-resolution image", 2: "Single page of multi-page image"])),
        0x100: ExifTag("ImageWidth"), 0x101: ExifTag("ImageHeight"), 0x102: ExifTag("BitsPerSample"),
        0x103: ExifTag(
            "Compression",
            .words([
                1: "Uncompressed", 5: "LZW", 6: "JPEG (old-style)", 7: "JPEG", 8: "Adobe Deflate", 32773: "PackBits",
            ])),
        0x106: ExifTag(
            "PhotometricInterpretation",
            .words([0: "WhiteIsZero", 1: "BlackIsZero", 2: "RGB", 3: "RGB Palette", 5: "CMYK", 6: "YCbCr", 8: "CIELab"])
        ),
        0x10D: ExifTag("DocumentName"), 0x10E: ExifTag("ImageDescription"), 0x10F: ExifTag("Make"),
        0x110: ExifTag("Model"),
        0x111: ExifTag("StripOffsets"),
        0x112: ExifTag(
            "Orientation",
            .words([
                1: "Horizontal (normal)", 2: "Mirror horizontal", 3: "Rotate 180", 4: "Mirror vertical",
                5: "Mirror horizontal and rotate 270 CW", 6: "Rotate 90 CW", 7: "Mirror horizontal and rotate 90 CW",
                8: "Rotate 270 CW",
            ])),
        0x115: ExifTag("SamplesPerPixel"), 0x116: ExifTag("RowsPerStrip"), 0x117: ExifTag("StripByteCounts"),
        0x11A: ExifTag("XResolution"), 0x11B: ExifTag("YResolution"),
        0x11C: ExifTag("PlanarConfiguration", .words([1: "Chunky", 2: "Planar"])),
        0x128: ExifTag("ResolutionUnit", .words(resolutionUnits)),
        0x131: ExifTag("Software"), 0x132: ExifTag("ModifyDate"), 0x13B: ExifTag("Artist"),
        0x13C: ExifTag("HostComputer"),
        0x13E: ExifTag("WhitePoint"), 0x13F: ExifTag("PrimaryChromaticities"),
        0x142: ExifTag("TileWidth"), 0x143: ExifTag("TileLength"),
        0x201: ExifTag("ThumbnailOffset"), 0x202: ExifTag("ThumbnailLength"),
        0x211: ExifTag("YCbCrCoefficients"),
        0x212: ExifTag(
            "YCbCrSubSampling",
            .coded([
                "1 1": "YCbCr4:4:4 (1 1)", "2 1": "YCbCr4:2:2 (2 1)", "2 2": "YCbCr4:2:0 (2 2)",
                "1 2": "YCbCr4:4:0 (1 2)",
            ])),
        0x213: ExifTag("YCbCrPositioning", .words([1: "Centered", 2: "Co-sited"])),
        0x214: ExifTag("ReferenceBlackWhite"),
        0x4746: ExifTag("Rating"), 0x4749: ExifTag("RatingPercent"), 0x8298: ExifTag("Copyright"),
        0x9C9B: ExifTag("XPTitle", .wideText), 0x9C9C: ExifTag("XPComment", .wideText),
        0x9C9D: ExifTag("XPAuthor", .wideText),
        0x9C9E: ExifTag("XPKeywords", .wideText), 0x9C9F: ExifTag("XPSubject", .wideText),
    ]

    private static let levels = [0: "Normal", 1: "Low", 2: "High"]

    static let exifTags: [Int: ExifTag] = [
        0x829A: ExifTag("ExposureTime", .exposureTime), 0x829D: ExifTag("FNumber", .fNumber),
        0x8822: ExifTag(
            "ExposureProgram",
            .words([
                0: "Not Defined", 1: "Manual", 2: "Program AE", 3: "Aperture-priority AE",
                4: "Shutter speed priority AE", 5: "Creative (Slow speed)", 6: "Action (High speed)", 7: "Portrait",
                8: "Landscape", 9: "Bulb",
            ])),
        0x8824: ExifTag("SpectralSensitivity"), 0x8827: ExifTag("ISO"),
        0x882A: ExifTag("TimeZoneOffset"), 0x882B: ExifTag("SelfTimerMode"),
        0x8830: ExifTag(
            "SensitivityType",
            .words([
                0: "Unknown", 1: "Standard Output Sensitivity", 2: "Recommended Exposure Index", 3: "ISO Speed",
                4: "Standard Output Sensitivity and Recommended Exposure Index",
                5: "Standard Output Sensitivity and ISO Speed", 6: "Recommended Exposure Index and ISO Speed",
                7: "Standard Output Sensitivity, Recommended Exposure Index and ISO Speed",
            ])),
        0x8831: ExifTag("StandardOutputSensitivity"), 0x8832: ExifTag("RecommendedExposureIndex"),
        0x8833: ExifTag("ISOSpeed"),
        0x9000: ExifTag("ExifVersion", .version), 0x9003: ExifTag("DateTimeOriginal"), 0x9004: ExifTag("CreateDate"),
        0x9010: ExifTag("OffsetTime"), 0x9011: ExifTag("OffsetTimeOriginal"), 0x9012: ExifTag("OffsetTimeDigitized"),
        0x9101: ExifTag("ComponentsConfiguration", .components), 0x9102: ExifTag("CompressedBitsPerPixel"),
        0x9201: ExifTag("ShutterSpeedValue", .apexTime), 0x9202: ExifTag("ApertureValue", .apexAperture),
        0x9203: ExifTag("BrightnessValue"), 0x9204: ExifTag("ExposureCompensation", .compensation),
        0x9205: ExifTag("MaxApertureValue", .apexAperture),
        0x9206: ExifTag("SubjectDistance", .unit("m", decimals: nil)),
        0x9207: ExifTag(
            "MeteringMode",
            .words([
                0: "Unknown", 1: "Average", 2: "Center-weighted average", 3: "Spot", 4: "Multi-spot",
                5: "Multi-segment", 6: "Partial", 255: "Other",
            ])),
        0x9208: ExifTag(
            "LightSource",
            .words([
                0: "Unknown", 1: "Daylight", 2: "Fluorescent", 3: "Tungsten (Incandescent)", 4: "Flash",
                9: "Fine Weather", 10: "Cloudy", 11: "Shade", 12: "Daylight Fluorescent", 13: "Day White Fluorescent",
                14: "Cool White Fluorescent", 15: "White Fluorescent", 16: "Warm White Fluorescent",
                17: "Standard Light A", 18: "Standard Light B", 19: "Standard Light C", 20: "D55", 21: "D65", 22: "D75",
                23: "D50", 24: "ISO Studio Tungsten", 255: "Other",
            ])),
        0x9209: ExifTag(
            "Flash",
            .words([
                0: "No Flash", 1: "Fired", 5: "Fired, Return not detected", 7: "Fired, Return detected",
                8: "On, Did not fire", 9: "On, Fired", 0xD: "On, Return not detected", 0xF: "On, Return detected",
                0x10: "Off, Did not fire", 0x14: "Off, Did not fire, Return not detected", 0x18: "Auto, Did not fire",
                0x19: "Auto, Fired", 0x1D: "Auto, Fired, Return not detected", 0x1F: "Auto, Fired, Return detected",
                0x20: "No flash function", 0x30: "Off, No flash function", 0x41: "Fired, Red-eye reduction",
                0x45: "Fired, Red-eye reduction, Return not detected",
                0x47: "Fired, Red-eye reduction, Return detected", 0x49: "On, Red-eye reduction",
                0x4D: "On, Red-eye reduction, Return not detected", 0x4F: "On, Red-eye reduction, Return detected",
                0x50: "Off, Red-eye reduction", 0x58: "Auto, Did not fire, Red-eye reduction",
                0x59: "Auto, Fired, Red-eye reduction", 0x5D: "Auto, Fired, Red-eye reduction, Return not detected",
                0x5F: "Auto, Fired, Red-eye reduction, Return detected",
            ])),
        0x920A: ExifTag("FocalLength", .unit("mm", decimals: 1)), 0x9214: ExifTag("SubjectArea"),
        0x9286: ExifTag("UserComment", .comment),
        0x9290: ExifTag("SubSecTime"), 0x9291: ExifTag("SubSecTimeOriginal"), 0x9292: ExifTag("SubSecTimeDigitized"),
        0xA000: ExifTag("FlashpixVersion", .version),
        0xA001: ExifTag(
            "ColorSpace",
            .words([1: "sRGB", 2: "Adobe RGB", 0xFFFD: "Wide Gamut RGB", 0xFFFE: "ICC Profile", 0xFFFF: "Uncalibrated"])
        ),
        0xA002: ExifTag("ExifImageWidth"), 0xA003: ExifTag("ExifImageHeight"), 0xA004: ExifTag("RelatedSoundFile"),
        0xA20B: ExifTag("FlashEnergy"), 0xA20E: ExifTag("FocalPlaneXResolution"),
        0xA20F: ExifTag("FocalPlaneYResolution"),
        0xA210: ExifTag("FocalPlaneResolutionUnit", .words(resolutionUnits)), 0xA214: ExifTag("SubjectLocation"),
        0xA215: ExifTag("ExposureIndex"),
        0xA217: ExifTag(
            "SensingMethod",
            .words([
                1: "Not defined", 2: "One-chip color area", 3: "Two-chip color area", 4: "Three-chip color area",
                5: "Color sequential area", 7: "Trilinear", 8: "Color sequential linear",
            ])),
        0xA300: ExifTag("FileSource", .words([1: "Film Scanner", 2: "Reflection Print Scanner", 3: "Digital Camera"])),
        0xA301: ExifTag("SceneType", .words([1: "Directly photographed"])),
        0xA401: ExifTag(
            "CustomRendered",
            .words([
                0: "Normal", 1: "Custom", 2: "HDR (no original saved)", 3: "HDR (original saved)",
                4: "Original (for HDR)", 6: "Panorama", 7: "Portrait HDR", 8: "Portrait",
            ])),
        0xA402: ExifTag("ExposureMode", .words([0: "Auto", 1: "Manual", 2: "Auto bracket"])),
        0xA403: ExifTag("WhiteBalance", .words([0: "Auto", 1: "Manual"])),
        0xA404: ExifTag("DigitalZoomRatio"), 0xA405: ExifTag("FocalLengthIn35mmFormat", .unit("mm", decimals: 0)),
        0xA406: ExifTag("SceneCaptureType", .words([0: "Standard", 1: "Landscape", 2: "Portrait", 3: "Night"])),
        0xA407: ExifTag(
            "GainControl",
            .words([0: "None", 1: "Low gain up", 2: "High gain up", 3: "Low gain down", 4: "High gain down"])),
        0xA408: ExifTag("Contrast", .words(levels)), 0xA409: ExifTag("Saturation", .words(levels)),
        0xA40A: ExifTag("Sharpness", .words([0: "Normal", 1: "Soft", 2: "Hard"])),
        0xA40C: ExifTag("SubjectDistanceRange", .words([0: "Unknown", 1: "Macro", 2: "Close", 3: "Distant"])),
        0xA420: ExifTag("ImageUniqueID"), 0xA430: ExifTag("OwnerName"), 0xA431: ExifTag("SerialNumber"),
        0xA432: ExifTag("LensInfo", .lens),
        0xA433: ExifTag("LensMake"), 0xA434: ExifTag("LensModel"), 0xA435: ExifTag("LensSerialNumber"),
        0xA436: ExifTag("ImageTitle"), 0xA437: ExifTag("Photographer"), 0xA438: ExifTag("ImageEditor"),
        0xA460: ExifTag(
            "CompositeImage",
            .words([
                0: "Unknown", 1: "Not a Composite Image", 2: "General Composite Image",
                3: "Composite Image Captured While Shooting",
            ])),
        0xA500: ExifTag("Gamma"),
    ]

    private static let north = ["N": "North", "S": "South"]
    private static let east = ["E": "East", "W": "West"]
    private static let bearing = ["M": "Magnetic North", "T": "True North"]

    static let gpsTags: [Int: ExifTag] = [
        0: ExifTag("GPSVersionID", .dotted), 1: ExifTag("GPSLatitudeRef", .coded(north)),
        2: ExifTag("GPSLatitude", .degrees),
        3: ExifTag("GPSLongitudeRef", .coded(east)), 4: ExifTag("GPSLongitude", .degrees),
        5: ExifTag("GPSAltitudeRef", .words([0: "Above Sea Level", 1: "Below Sea Level"])),
        6: ExifTag("GPSAltitude", .unit("m", decimals: nil)),
        7: ExifTag("GPSTimeStamp", .time), 8: ExifTag("GPSSatellites"),
        9: ExifTag("GPSStatus", .coded(["A": "Measurement Active", "V": "Measurement Void"])),
        10: ExifTag("GPSMeasureMode", .coded(["2": "2-Dimensional Measurement", "3": "3-Dimensional Measurement"])),
        11: ExifTag("GPSDOP"),
        12: ExifTag("GPSSpeedRef", .coded(["K": "km/h", "M": "mph", "N": "knots"])), 13: ExifTag("GPSSpeed"),
        14: ExifTag("GPSTrackRef", .coded(bearing)), 15: ExifTag("GPSTrack"),
        16: ExifTag("GPSImgDirectionRef", .coded(bearing)),
        17: ExifTag("GPSImgDirection"), 18: ExifTag("GPSMapDatum"), 19: ExifTag("GPSDestLatitudeRef", .coded(north)),
        20: ExifTag("GPSDestLatitude", .degrees), 21: ExifTag("GPSDestLongitudeRef", .coded(east)),
        22: ExifTag("GPSDestLongitude", .degrees),
        23: ExifTag("GPSDestBearingRef", .coded(bearing)), 24: ExifTag("GPSDestBearing"),
        25: ExifTag("GPSDestDistanceRef", .coded(["K": "Kilometers", "M": "Miles", "N": "Nautical Miles"])),
        26: ExifTag("GPSDestDistance"),
        27: ExifTag("GPSProcessingMethod", .comment), 28: ExifTag("GPSAreaInformation", .comment),
        29: ExifTag("GPSDateStamp"),
        30: ExifTag("GPSDifferential", .words([0: "No Correction", 1: "Differential Corrected"])),
        31: ExifTag("GPSHPositioningError", .unit("m", decimals: nil)),
    ]
}
