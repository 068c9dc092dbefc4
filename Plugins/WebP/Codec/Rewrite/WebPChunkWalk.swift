import CoderPluginKit
import ImageModel

/// One chunk as stored in a file.
///
///     name 4 | bytes of the payload 4 | payload | 0 or 1 byte of padding to an even length
///
/// - Source: RFC 9649 section 2.3.
struct WebPChunk: Hashable {
    /// Four letters.
    struct Name: Hashable {
        let bytes: [UInt8]

        init(_ name: String) { bytes = Array(name.utf8) }
        init(_ bytes: [UInt8]) { self.bytes = bytes }

        static let extended = Name("VP8X")
        static let profile = Name("ICCP")
        static let animation = Name("ANIM")
        static let frame = Name("ANMF")
        static let alpha = Name("ALPH")
        static let lossy = Name("VP8 ")
        static let lossless = Name("VP8L")
        static let exif = Name("EXIF")
        static let xmp = Name("XMP ")

        var isImage: Bool { self == .lossy || self == .lossless || self == .frame }
        /// Whether decoding needs it.
        var isStructure: Bool { isImage || self == .extended || self == .animation || self == .alpha }
    }

    var name: Name
    var offset: Int
    /// The number of payload bytes.
    var length: Int
    /// Whether it ends at an even offset; false if a file lacks its last byte.
    var isPadded: Bool

    var payload: Range<Int> { offset + 8..<offset + 8 + length }
    /// The range including its padding.
    var range: Range<Int> { offset..<payload.upperBound + (isPadded ? length % 2 : 0) }
}

/// Walks over every chunk of a file.
///
///     "RIFF" | bytes behind this word 4 | "WEBP" | chunks
struct WebPChunkWalk {
    /// The position of the first chunk.
    static let start = 12
    /// The number of chunks between two polls.
    private static let patience = 256

    private let source: ByteSource
    private let host: HostServices
    private var position = start
    private var count = 0
    /// The end that the file declares.
    let end: Int

    /// - Throws: `.notMine`, `.corrupt`; `.truncated` if the file is shorter than it declares; `.needsInput`.
    init(_ source: ByteSource, host: HostServices) throws(CoderError) {
        self.source = source
        self.host = host
        var reader = ByteReader(source)
        guard try reader.consume(Array("RIFF".utf8)) else { throw .notMine() }
        let size = Int(try reader.u32LE())
        guard try reader.consume(Array("WEBP".utf8)) else { throw .notMine() }
        end = 8 + size
        guard size >= 12 else { throw .corrupt("the file has no chunk", at: 4) }
        try ByteReader(source).require(end)
    }

    /// Returns the next chunk; nil behind the last. Ignores a few bytes that form no chunk.
    ///
    /// - Throws: `.corrupt` for a chunk that is longer than the file.
    mutating func next() throws(CoderError) -> WebPChunk? {
        if count % Self.patience == 0 { try host.checkCancellation() }
        count += 1
        guard end - position >= 8 else { return nil }
        var reader = ByteReader(source, at: position)
        let name = WebPChunk.Name(try reader.bytes(4))
        let length = Int(try reader.u32LE())
        guard length <= end - reader.offset else {
            throw .corrupt("a chunk is longer than the file", at: position)
        }
        // The padding of the last chunk may be missing.
        let isPadded = length % 2 == 0 || length < end - reader.offset
        let chunk = WebPChunk(name: name, offset: position, length: length, isPadded: isPadded)
        position = chunk.range.upperBound
        return chunk
    }
}
