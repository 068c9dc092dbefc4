import CoderPluginKit
import ImageModel

/// The header of one chunk.
///
///     tag 4 | bytes of the payload 4 | payload | 0 or 1 byte of padding to an even length
///
/// - Source: RFC 9649 section 2.3.
struct AWebPChunk {
    struct Tag: Hashable {
        let code: UInt32

        init(_ name: String) { code = name.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
        init(code: UInt32) { self.code = code }

        static let extended = Tag("VP8X")
        static let animation = Tag("ANIM")
        static let frame = Tag("ANMF")
        static let alpha = Tag("ALPH")
        static let lossy = Tag("VP8 ")
        static let lossless = Tag("VP8L")
        static let profile = Tag("ICCP")
        static let exif = Tag("EXIF")
        static let xmp = Tag("XMP ")

        /// The tag as stored in the file.
        var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: code >> (24 - 8 * $0)) } }
    }

    let tag: Tag
    let payload: Range<Int>

    /// The position of the next chunk.
    var end: Int { payload.upperBound + payload.count % 2 }

    /// Reads the header at the cursor; nil if the container has no room for one.
    ///
    /// - Throws: `.corrupt` if the payload does not end within the container, `.needsInput`, `.truncated`.
    init?(_ reader: inout ByteReader, within end: Int) throws(CoderError) {
        let start = reader.offset
        guard end - start >= 8 else { return nil }
        try reader.require(8)
        tag = Tag(code: try reader.u32BE())
        let count = Int(try reader.u32LE())
        guard count <= end - reader.offset else { throw .corrupt("a chunk is longer than its container", at: start) }
        payload = reader.offset..<reader.offset + count
    }
}

extension ByteReader {
    mutating func u24LE() throws(CoderError) -> Int {
        try require(3)
        return Int(try u16LE()) | Int(try u8()) << 16
    }
}
