import CoderPluginKit
import ImageModel

/// The positions of the metadata segments of a file.
///
///     FF D8 | FF E1 len "Exif" 0 0 TIFF… | FF E2 len "ICC_PROFILE" 0 i n … | … | FF DA scan
///
/// Keeps only ranges, so that nothing is copied before the caller requests it.
///
/// - Source: ITU-T T.81 B.1.1; Exif 2.32 section 4.7.2; XMP part 3 section 1.1.3; ICC.1 annex B.4.
struct JPEGMarkers {
    /// The TIFF stream behind `Exif\0\0`.
    var exif: Range<Int>?
    var xmp: Range<Int>?
    var xmpParts: [XMPPart] = []
    var profileParts: [ProfilePart] = []
    /// APP0 segments that may have a thumbnail, from their names on.
    var jfifThumbnails: [Range<Int>] = []
    /// Photoshop image resources, in the order of their segments.
    var resources: [Range<Int>] = []
    var comments: [Range<Int>] = []
    /// The segment with the index of further images, from its marker on.
    var multiPicture: Range<Int>?
    /// Whether a segment declares how to apply this image as a gain map (ISO 21496-1).
    var hasGainMapSegment = false
    /// The end of the walk: the first scan of a complete image.
    private(set) var end = 2

    struct ProfilePart {
        var number: UInt8
        var count: UInt8
        var bytes: Range<Int>
    }

    struct XMPPart {
        var guid: [UInt8]
        var total: UInt32
        var offset: UInt32
        var bytes: Range<Int>
    }

    /// The format allows one segment of each kind.
    private static let mostJFIF = 2
    private static let mostComments = 256
    private static let exifName = Array("Exif\0".utf8)
    private static let xmpName = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
    private static let xmpPartName = Array("http://ns.adobe.com/xmp/extension/\0".utf8)
    private static let profileName = Array("ICC_PROFILE\0".utf8)
    private static let jfifName = Array("JFIF\0".utf8)
    private static let jfifExtensionName = Array("JFXX\0".utf8)
    private static let resourcesName = Array("Photoshop 3.0\0".utf8)
    private static let multiPictureName = Array("MPF\0".utf8)
    private static let gainMapName = Array((GainMap.iso + "\0").utf8)

    /// Walks from the start of the image to its first scan, or to the end of the bytes.
    init(_ source: ByteSource) {
        var offset = 2
        defer { end = offset }
        let available = source.available
        while offset + 4 <= available {
            // Skips bytes outside of segments and fill bytes before a marker, as libjpeg does.
            guard source[offset] == 0xFF, source[offset + 1] != 0xFF else {
                offset += 1
                continue
            }
            let marker = source[offset + 1]
            switch marker {
            case 0x00, 0x01, 0xD0...0xD8:
                offset += 2
                continue
            case 0xD9, 0xDA:
                return
            default:
                break
            }
            let length = Int(source[offset + 2]) << 8 | Int(source[offset + 3])
            guard length >= 2, offset + 2 + length <= available else { return }
            note(marker, offset + 4..<offset + 2 + length, source)
            offset += 2 + length
        }
    }

    private mutating func note(_ marker: UInt8, _ body: Range<Int>, _ source: ByteSource) {
        func rest(after name: [UInt8], skipping extra: Int = 0) -> Range<Int>? {
            guard body.count >= name.count + extra else { return nil }
            for (index, byte) in name.enumerated() where source[body.lowerBound + index] != byte { return nil }
            return body.lowerBound + name.count + extra..<body.upperBound
        }
        func u32(_ at: Int) -> UInt32 {
            source.bytes(at..<at + 4).reduce(0) { $0 << 8 | UInt32($1) }
        }

        switch marker {
        case 0xE0 where jfifThumbnails.count < Self.mostJFIF:
            // Both sides are 0 if there is no thumbnail.
            if let rest = rest(after: Self.jfifName, skipping: 9), rest.count > 0 {
                jfifThumbnails.append(body)
            } else if let rest = rest(after: Self.jfifExtensionName), rest.count > 2 {
                jfifThumbnails.append(body)
            }
        case 0xE1:
            if exif == nil, let tiff = rest(after: Self.exifName, skipping: 1) {
                exif = tiff
            } else if xmp == nil, let packet = rest(after: Self.xmpName) {
                xmp = packet
            } else if let part = rest(after: Self.xmpPartName, skipping: 40) {
                let head = part.lowerBound - 40
                xmpParts.append(
                    XMPPart(
                        guid: source.bytes(head..<head + 32), total: u32(head + 32), offset: u32(head + 36),
                        bytes: part))
            }
        case 0xE2:
            if let part = rest(after: Self.profileName, skipping: 2) {
                let head = part.lowerBound - 2
                profileParts.append(ProfilePart(number: source[head], count: source[head + 1], bytes: part))
            } else if multiPicture == nil, rest(after: Self.multiPictureName) != nil {
                multiPicture = body.lowerBound - 4..<body.upperBound
            } else if rest(after: Self.gainMapName) != nil {
                hasGainMapSegment = true
            }
        case 0xED:
            if let part = rest(after: Self.resourcesName) { resources.append(part) }
        case 0xFE where comments.count < Self.mostComments:
            if !body.isEmpty { comments.append(body) }
        default:
            break
        }
    }
}
