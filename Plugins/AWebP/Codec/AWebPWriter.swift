import CoderPluginKit
import ImageModel

/// Writes coded images into a file, one after another.
///
/// The header contains the file size and whether the image has alpha, which are known only at the end. If the output is
/// not seekable, the writer collects the file in memory.
///
/// - Source: RFC 9649 section 2.
struct AWebPWriter {
    /// One coded frame.
    struct Frame {
        /// "ALPH", "VP8 " or "VP8L" chunks.
        var chunks: [UInt8]
        var hasAlpha: Bool
        var rect: PixelRect
        var milliseconds: Int
        var blend: Blend
        var disposal = Disposal.keep
    }

    struct Metadata {
        var profile: [UInt8]?
        var exif: [UInt8]?
        var xmp: [UInt8]?
        var isEmpty: Bool { profile == nil && exif == nil && xmp == nil }
    }

    private let sink: ByteSink
    private let canvas: PixelSize
    private let metadata: Metadata
    private var held: [UInt8] = []
    private var count = 0
    private var hasAlpha = false

    /// - Source: RFC 9649 section 2.4: the size in the header is even and has 32 bits.
    private static let largest = Int(UInt32.max) - 1 + 8

    init(_ sink: ByteSink, canvas: PixelSize, metadata: Metadata) {
        self.sink = sink
        self.canvas = canvas
        self.metadata = metadata
    }

    /// Writes a file of one image that fills the canvas.
    mutating func writeStill(_ frame: Frame) throws(CoderError) {
        hasAlpha = frame.hasAlpha
        let isSimple = metadata.isEmpty && !frame.chunks.starts(with: AWebPChunk.Tag.alpha.bytes)
        var body = isSimple ? [] : extended(isAnimation: false)
        if let profile = metadata.profile { body += Self.chunk(.profile, profile) }
        body += frame.chunks
        if let exif = metadata.exif { body += Self.chunk(.exif, exif) }
        if let xmp = metadata.xmp { body += Self.chunk(.xmp, xmp) }
        try sink.write(try Self.head(8 + 4 + body.count) + body)
    }

    /// Begins an animation.
    mutating func begin(loopCount: Int) throws(CoderError) {
        var bytes = try Self.head(0) + extended(isAnimation: true)
        if let profile = metadata.profile { bytes += Self.chunk(.profile, profile) }
        // The background, which viewers ignore, is white, as in other writers.
        bytes += Self.chunk(.animation, [0xFF, 0xFF, 0xFF, 0xFF] + Self.little(loopCount, 2))
        try write(bytes)
    }

    mutating func add(_ frame: Frame) throws(CoderError) {
        hasAlpha = hasAlpha || frame.hasAlpha
        let rect = frame.rect
        let flags = (frame.blend == .source ? 2 : 0) | (frame.disposal == .background ? 1 : 0)
        let head =
            AWebPChunk.Tag.frame.bytes + Self.little(16 + frame.chunks.count, 4) + Self.little(rect.x / 2, 3)
            + Self.little(rect.y / 2, 3) + Self.little(rect.width - 1, 3) + Self.little(rect.height - 1, 3)
            + Self.little(frame.milliseconds, 3) + [UInt8(flags)]
        try write(head)
        try write(frame.chunks)
    }

    /// Writes the chunks behind the frames, and completes the header.
    mutating func finish() throws(CoderError) {
        if let exif = metadata.exif { try write(Self.chunk(.exif, exif)) }
        if let xmp = metadata.xmp { try write(Self.chunk(.xmp, xmp)) }
        let head = try Self.head(count) + extended(isAnimation: true)
        if sink.isSeekable {
            try sink.overwrite(head, at: 0)
        } else {
            held.replaceSubrange(0..<head.count, with: head)
            try sink.write(held)
        }
    }

    private mutating func write(_ bytes: [UInt8]) throws(CoderError) {
        count += bytes.count
        guard count <= Self.largest else { throw CoderError(.limitExceeded, "the file would exceed 4 GiB") }
        if sink.isSeekable { try sink.write(bytes) } else { held += bytes }
    }

    // MARK: Parts

    private static func head(_ total: Int) throws(CoderError) -> [UInt8] {
        guard total <= largest else { throw CoderError(.limitExceeded, "the file would exceed 4 GiB") }
        return Array("RIFF".utf8) + little(max(0, total - 8), 4) + Array("WEBP".utf8)
    }

    /// The chunk with the canvas and the kinds of contents.
    private func extended(isAnimation: Bool) -> [UInt8] {
        var flags: UInt8 = isAnimation ? 0x02 : 0
        if metadata.profile != nil { flags |= 0x20 }
        if hasAlpha { flags |= 0x10 }
        if metadata.exif != nil { flags |= 0x08 }
        if metadata.xmp != nil { flags |= 0x04 }
        return Self.chunk(
            .extended, [flags, 0, 0, 0] + Self.little(canvas.width - 1, 3) + Self.little(canvas.height - 1, 3))
    }

    static func chunk(_ tag: AWebPChunk.Tag, _ payload: [UInt8]) -> [UInt8] {
        tag.bytes + little(payload.count, 4) + payload + (payload.count % 2 == 0 ? [] : [0])
    }

    static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
