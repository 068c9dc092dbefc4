import CoderPluginKit
import ImageModel

/// The meaning of a segment.
enum JPEGContent {
    /// Data that decoding needs: tables, headers of frames and scans.
    case structure
    case jfif
    /// A thumbnail behind the JFIF segment.
    case jfifExtension
    case exif
    case xmp
    case xmpExtension
    case icc
    /// The index of further images behind the first.
    case multiPicture
    /// Photoshop image resources, which contain the IPTC record.
    case resources
    /// The color transform; decoding needs it.
    case adobe
    case comment
    case other

    /// The names at the start of segment bodies.
    ///
    /// - Source: JFIF 1.02; Exif 2.32 section 4.7.2; XMP part 3 section 1.1.3; ICC.1 annex B.4; CIPA DC-007 section 5.1;
    ///   Adobe TN 5116.
    enum Name {
        static let jfif = Array("JFIF\0".utf8)
        static let jfifExtension = Array("JFXX\0".utf8)
        static let exif = Array("Exif\0".utf8)
        static let xmp = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
        static let xmpExtension = Array("http://ns.adobe.com/xmp/extension/\0".utf8)
        static let icc = Array("ICC_PROFILE\0".utf8)
        static let multiPicture = Array("MPF\0".utf8)
        static let resources = Array("Photoshop 3.0\0".utf8)
        static let adobe = Array("Adobe".utf8)
    }

    private static let names: [(marker: UInt8, name: [UInt8], content: JPEGContent)] = [
        (0xE0, Name.jfif, .jfif), (0xE0, Name.jfifExtension, .jfifExtension), (0xE1, Name.exif, .exif),
        (0xE1, Name.xmp, .xmp), (0xE1, Name.xmpExtension, .xmpExtension), (0xE2, Name.icc, .icc),
        (0xE2, Name.multiPicture, .multiPicture), (0xED, Name.resources, .resources), (0xEE, Name.adobe, .adobe),
    ]

    init(_ segment: JPEGSegment, _ source: JPEGSource) throws(CoderError) {
        self = segment.marker == 0xFE ? .comment : segment.isMetadata ? .other : .structure
        for (marker, name, content) in Self.names where marker == segment.marker {
            if try source.begins(segment.body, with: name) { self = content }
        }
    }

    /// The metadata kind in a request; nil for a segment that is never removed.
    var kind: MetadataBlob.Kind? {
        switch self {
        case .structure, .jfif, .adobe: nil
        case .exif: .exif
        case .xmp, .xmpExtension: .xmp
        case .icc: .icc
        case .resources: .iptc
        case .comment: .text
        case .jfifExtension, .multiPicture, .other: .raw
        }
    }

    /// Its conventional position among other segments; nil for a segment without one.
    var rank: Int? {
        switch self {
        case .jfif, .jfifExtension: 0
        case .exif: 1
        case .xmp: 2
        case .xmpExtension: 3
        case .icc: 4
        case .multiPicture: 5
        case .resources: 6
        case .comment: 7
        case .structure, .adobe, .other: nil
        }
    }

    static let rankCount = 8
}
