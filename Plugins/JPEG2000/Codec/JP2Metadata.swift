internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The identifiers of `uuid` boxes with metadata.
enum MetadataIdentifier {
    /// `JpgTiffExif->JP2`.
    static let exif = Array("JpgTiffExif->JP2".utf8)
    static let xmp: [UInt8] = [
        0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
    ]
    static let iptc: [UInt8] = [
        0x33, 0xC7, 0xA4, 0xD2, 0xB8, 0x1D, 0x47, 0x23, 0xA0, 0xBA, 0xF1, 0xA3, 0xE0, 0x97, 0xAD, 0x38,
    ]
    /// GeoTIFF: a TIFF stream with the fields of a map.
    static let geography: [UInt8] = [
        0xB1, 0x4B, 0xF8, 0xBD, 0x08, 0x3D, 0x4B, 0x43, 0xA5, 0xAE, 0x8C, 0xD7, 0xD5, 0xA6, 0xCE, 0x03,
    ]
}

/// Reads the metadata boxes of a complete file, in front of the codestream and behind it.
///
///     | size 4 | uuid | identifier 16 | metadata … |
struct JP2Metadata {
    private(set) var blobs: [MetadataBlob] = []
    private var budget: MetadataBudget
    private let session: DecoderSession

    init(_ session: DecoderSession, profile: [UInt8]?) {
        self.session = session
        budget = MetadataBudget(session.limits)
        if let profile { add(MetadataBlob(.icc, profile)) }
        var codestreams = 0
        // The boxes before the codestream have been read without an error; the image does not depend on those behind.
        var next: Int? = 12
        while let offset = next, let box = try? Container.box(at: offset, session.source) {
            if box.type == "jp2c" { codestreams += 1 }
            let end = box.end ?? session.source.available
            if end > session.source.available { break }
            read(box.type, box.start..<end)
            next = box.end
        }
        if codestreams > 1 { session.host.warn("only the first of \(codestreams) codestreams is decoded") }
    }

    private mutating func add(_ blob: MetadataBlob) {
        if let reason = budget.refusal(of: "\(blob.kind)", bytes: blob.bytes.count) {
            session.host.warn(reason)
        } else {
            blobs.append(blob)
        }
    }

    private mutating func read(_ type: FourCC, _ range: Range<Int>) {
        if type == "xml " {
            guard fits(range) else { return }
            let bytes = session.source.bytes(range)
            // Any kind of XML may be in this box; XMP is marked by its namespace.
            let isXMP = bytes.prefix(512).firstPlace(of: Array("adobe:ns:meta/".utf8)) != nil
            add(isXMP ? MetadataBlob(.xmp, bytes) : MetadataBlob(.raw, bytes, key: "xml "))
        }
        guard type == "uuid", range.count > 16 else { return }
        let identifier = session.source.bytes(range.lowerBound..<range.lowerBound + 16)
        let content = range.lowerBound + 16..<range.upperBound
        let known = [
            MetadataIdentifier.exif, MetadataIdentifier.xmp, MetadataIdentifier.iptc, MetadataIdentifier.geography,
        ]
        guard known.contains(identifier), fits(content) else { return }
        let bytes = session.source.bytes(content)
        switch identifier {
        case MetadataIdentifier.xmp: add(MetadataBlob(.xmp, bytes))
        case MetadataIdentifier.iptc: add(MetadataBlob(.iptc, bytes))
        case MetadataIdentifier.exif:
            if let exif = Self.exif(bytes) {
                add(MetadataBlob(.exif, exif))
            } else {
                session.host.warn("ignored Exif data without a TIFF header")
            }
        default: add(MetadataBlob(.raw, bytes, key: "GeoTIFF"))
        }
    }

    /// Whether a piece may be read at all.
    private func fits(_ range: Range<Int>) -> Bool {
        if range.count <= budget.room { return true }
        session.host.warn("metadata of \(range.count) bytes is left out: it is above the limit")
        return false
    }

    /// Skips the name that some writers put in front of the TIFF header.
    private static func exif(_ bytes: [UInt8]) -> [UInt8]? {
        let headers: [[UInt8]] = [[0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A]]
        for skipped in [0, 6] where bytes.count >= skipped + 8 {
            if headers.contains(Array(bytes[skipped..<skipped + 4])) { return Array(bytes[skipped...]) }
        }
        return nil
    }
}

extension Collection where Element == UInt8 {
    /// The first place of a sequence of bytes.
    fileprivate func firstPlace(of wanted: [UInt8]) -> Index? {
        indices.first { self[$0...].starts(with: wanted) }
    }
}
