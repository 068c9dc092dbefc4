import CCoderPlugin

/// Metadata for testing encoders; each piece is valid, because libraries parse it.
enum SampleMetadata {
    static let blobs = [
        Blob(kind: CPI_BLOB_EXIF, bytes: exif), Blob(kind: CPI_BLOB_XMP, bytes: xmp),
        Blob(kind: CPI_BLOB_ICC, bytes: profile), Blob(kind: CPI_BLOB_IPTC, bytes: iptc),
        Blob(kind: CPI_BLOB_TEXT, key: "Comment", bytes: Array("A line of text, with ünïcode.".utf8)),
    ]

    /// Streams for packing: small files of three formats, one pixel each.
    static let streams: [(format: String, bytes: [UInt8])] = [
        (
            "gif",
            [
                71, 73, 70, 56, 57, 97, 1, 0, 1, 0, 128, 0, 0, 0, 0, 0, 255, 0, 0, 44, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2,
                2, 76, 1, 0, 59,
            ]
        ),
        (
            "jpeg",
            [
                255, 216, 255, 224, 0, 16, 74, 70, 73, 70, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 255, 219, 0, 67, 0, 8, 6, 6, 7,
                6, 5, 8, 7, 7, 7, 9, 9, 8, 10, 12, 20, 13, 12, 11, 11, 12, 25, 18, 19, 15, 20, 29, 26, 31, 30, 29, 26,
                28,
                28, 32, 36, 46, 39, 32, 34, 44, 35, 28, 28, 40, 55, 41, 44, 48, 49, 52, 52, 52, 31, 39, 57, 61, 56, 50,
                60, 46, 51, 52, 50, 255, 192, 0, 11, 8, 0, 1, 0, 1, 1, 1, 17, 0, 255, 196, 0, 20, 0, 1, 0, 0, 0, 0, 0,
                0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 255, 196, 0, 20, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                255,
                218, 0, 8, 1, 1, 0, 0, 63, 0, 63, 191, 255, 217,
            ]
        ),
        (
            "pam",
            Array("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n".utf8) + [9, 8, 7]
        ),
    ]

    /// Returns the name of a kind in manifests.
    static func name(_ kind: UInt32) -> String {
        switch kind {
        case CPI_BLOB_EXIF: "exif"
        case CPI_BLOB_XMP: "xmp"
        case CPI_BLOB_ICC: "icc"
        case CPI_BLOB_IPTC: "iptc"
        case CPI_BLOB_TEXT: "text"
        default: "raw"
        }
    }

    /// A TIFF stream with one directory: orientation 1, and the artist.
    ///
    /// - Source: CIPA DC-008, section 4.6.2.
    private static let exif: [UInt8] =
        Array("II*\0".utf8) + [8, 0, 0, 0]
        + [2, 0]
        + [0x12, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        + [0x31, 1, 2, 0, 12, 0, 0, 0, 38, 0, 0, 0]
        + [0, 0, 0, 0]
        + Array("conformance\0".utf8)

    private static let xmp = Array(
        ("<?xpacket begin=\"\u{FEFF}\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
            + "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
            + "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
            + "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" dc:source=\"conformance\"/>"
            + "</rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>").utf8)

    /// One IPTC record: a caption.
    ///
    /// - Source: IPTC-IIM 4.2, data set 2:120.
    private static let iptc: [UInt8] = [0x1C, 2, 120, 0, 11] + Array("conformance".utf8)

    /// A matrix profile with the primaries of sRGB and a gamma of 2.2.
    ///
    /// - Source: ICC.1:2001-04, sections 6.1 and 6.5.
    private static let profile: [UInt8] = {
        func u32(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        func xyz(_ x: Int, _ y: Int, _ z: Int) -> [UInt8] {
            Array("XYZ ".utf8) + u32(0) + u32(x) + u32(y) + u32(z)
        }
        let text = Array("kit\0".utf8)
        let description =
            Array("desc".utf8) + u32(0) + u32(text.count) + text + [UInt8](repeating: 0, count: 78 + 2)
        let curve = Array("curv".utf8) + u32(0) + u32(1) + [2, 0x33, 0, 0]
        let parts: [(String, [UInt8])] = [
            ("desc", description), ("cprt", Array("text".utf8) + u32(0) + Array("CC0\0".utf8)),
            ("wtpt", xyz(0xF6D6, 0x10000, 0xD32D)), ("rXYZ", xyz(0x6FA2, 0x38F5, 0x0390)),
            ("gXYZ", xyz(0x6299, 0xB785, 0x18DA)), ("bXYZ", xyz(0x24A0, 0x0F84, 0xB6CF)), ("rTRC", curve),
            ("gTRC", curve), ("bTRC", curve),
        ]
        var table = u32(parts.count)
        var data: [UInt8] = []
        let start = 128 + 4 + 12 * parts.count
        for (name, bytes) in parts {
            table += Array(name.utf8) + u32(start + data.count) + u32(bytes.count)
            data += bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
        }
        var header = u32(start + data.count) + u32(0) + [2, 0x10, 0, 0] + Array("mntrRGB XYZ ".utf8)
        header += [7, 0xEA, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0] + Array("acsp".utf8) + [UInt8](repeating: 0, count: 28)
        header += u32(0xF6D6) + u32(0x10000) + u32(0xD32D)
        header += [UInt8](repeating: 0, count: 128 - header.count)
        return header + table + data
    }()
}
