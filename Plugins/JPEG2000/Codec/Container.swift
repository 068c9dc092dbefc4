internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The boxes of a JP2 or JPX file up to its first codestream, or a bare codestream.
///
/// - Source: ISO/IEC 15444-1 annex I; 15444-2 annex M (`jpch`, `jplh`).
struct Container {
    /// The bytes of the codestream; to the end of the source if the box states no size.
    private(set) var start = 0
    /// The end of the codestream as stated; nil for the end of the source.
    private(set) var statedEnd: Int?
    let isBare: Bool
    private(set) var header = ImageHeader()

    private static let signature: [UInt8] = [0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A]
    private static let bareSignature: [UInt8] = [0xFF, 0x4F, 0xFF, 0x51]

    /// A box at the top level.
    struct TopBox {
        let type: FourCC
        let start: Int
        /// The end as stated; nil for the end of the source.
        let end: Int?
    }

    /// - Throws: `.needsInput`, `.truncated`, `.notMine`, `.corrupt`, `.unsupportedFeature`, `.limitExceeded`.
    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        if try reader.consume(Self.bareSignature) {
            isBare = true
            return
        }
        isBare = false
        guard try reader.consume(Self.signature) else { throw .notMine() }
        var next: Int? = Self.signature.count
        while let offset = next {
            let box = try Self.box(at: offset, session.source)
            if box.type == "jp2c" {
                (start, statedEnd) = (box.start, box.end)
                return
            }
            try read(box, session)
            next = box.end
        }
        throw .corrupt("the file has no codestream")
    }

    /// Reads the size and type of a box.
    ///
    /// - Throws: `.truncated` at the end of the source.
    static func box(at offset: Int, _ source: ByteSource) throws(CoderError) -> TopBox {
        var reader = ByteReader(source, at: offset)
        try reader.require(8)
        var size = UInt64(try reader.u32BE())
        let type = FourCC(try reader.u32BE())
        if size == 0 { return TopBox(type: type, start: reader.offset, end: nil) }
        if size == 1 { size = UInt64(try reader.u32BE()) << 32 | UInt64(try reader.u32BE()) }
        let start = reader.offset
        guard let length = Int(exactly: size), length >= start - offset else {
            throw .corrupt("the box '\(type)' has an invalid size", at: offset)
        }
        let (end, overflow) = offset.addingReportingOverflow(length)
        if overflow { throw .corrupt("the box '\(type)' has an invalid size", at: offset) }
        return TopBox(type: type, start: start, end: end)
    }

    private mutating func read(_ box: TopBox, _ session: DecoderSession) throws(CoderError) {
        switch box.type {
        case "ftyp":
            var reader = ByteReader(session.source, at: box.start)
            let brand = FourCC(try reader.u32BE())
            if brand == "mjp2" || brand == "mj2s" { throw .unsupported("Motion JPEG 2000") }
            if brand == "jpm " { throw .unsupported("JPM, the compound form of JPEG 2000,") }
        case "jp2h", "jpch", "jplh":
            // The header holds the ICC profile, which is metadata.
            let limit = session.limits.maxMetadataBytes
            let count = (box.end ?? session.source.available) - box.start
            if limit > 0, count > limit { throw .limit("metadata", allowed: limit, requested: count) }
            var reader = ByteReader(session.source, at: box.start)
            header.read(BoxCursor(try reader.bytes(count)), session.host)
        default: break
        }
    }
}
