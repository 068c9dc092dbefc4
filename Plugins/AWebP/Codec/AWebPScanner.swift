import CoderPluginKit
import ImageModel

/// Walks over the chunks of a file, each once, for complete and growing sources.
///
///     "RIFF" | bytes behind this word 4 | "WEBP" | "VP8X" [ "ICCP" ] "ANIM" { "ANMF" } [ "EXIF" ] [ "XMP " ]
///
/// - Source: RFC 9649 section 2.
struct AWebPScanner {
    private let session: DecoderSession
    /// The position of the next chunk.
    private var offset = 0
    /// The end that the file declares; 0 until it is known.
    private var end = 0

    private(set) var canvas = PixelSize.zero
    private(set) var declaresAlpha = false
    private(set) var background: RGBAColor?
    private(set) var storedLoopCount: Int?
    /// The complete frames.
    private(set) var frames: [AWebPFrame] = []
    /// The first frame, while its bytes are arriving.
    private(set) var openFrame: AWebPFrame?
    private var blobs: [(tag: AWebPChunk.Tag, range: Range<Int>)] = []

    init(_ session: DecoderSession) { self.session = session }

    /// Reads up to the canvas.
    ///
    /// - Throws: `.notMine` for a still, `.needsInput`, `.truncated`, `.corrupt`.
    mutating func readCanvas() throws(CoderError) {
        if end > 0 { return }
        var reader = ByteReader(session.source)
        guard try reader.consume(Array("RIFF".utf8)) else { throw .notMine() }
        let size = Int(try reader.u32LE())
        guard try reader.consume(Array("WEBP".utf8)) else { throw .notMine() }
        guard let chunk = try AWebPChunk(&reader, within: 8 + size) else { throw .corrupt("there is no chunk", at: 12) }
        guard chunk.tag == .extended else { throw .notMine("the image is not animated") }
        guard chunk.payload.count >= 10 else { throw .corrupt("the extended header is too short", at: 12) }
        // flags 8: reserved 2, ICC, alpha, Exif, XMP, animation, reserved | reserved 24 | width - 1 24 | height - 1 24
        try reader.require(10)
        let flags = try reader.u8()
        guard flags & 0x02 != 0 else { throw .notMine("the image is not animated") }
        try reader.skip(3)
        let canvas = PixelSize(try reader.u24LE() + 1, try reader.u24LE() + 1)
        guard let area = canvas.area, area <= Int(UInt32.max) else {
            throw .corrupt("invalid canvas size \(canvas)", at: 24)
        }
        self.canvas = canvas
        declaresAlpha = flags & 0x10 != 0
        offset = chunk.end
        end = 8 + size
    }

    /// Continues to the next complete frame; false at the end of the file.
    ///
    /// - Throws: `.needsInput`, `.truncated`, `.corrupt`, `.limitExceeded`; the frames before it stay.
    mutating func advance() throws(CoderError) -> Bool {
        try readCanvas()
        while offset < end {
            var reader = ByteReader(session.source, at: offset)
            guard let chunk = try AWebPChunk(&reader, within: end) else {
                // Ignores a few bytes at the end that form no chunk.
                offset = end
                break
            }
            let isFrame = chunk.tag == .frame
            if isFrame { try readFrame(chunk) } else { try read(chunk, &reader) }
            offset = chunk.end
            if isFrame { return true }
        }
        try ByteReader(session.source, at: end).require(0)
        return false
    }

    private mutating func readFrame(_ chunk: AWebPChunk) throws(CoderError) {
        guard storedLoopCount != nil else {
            throw .corrupt("a frame comes before the animation chunk", at: offset)
        }
        if session.limits.maxFrames > 0, frames.count >= session.limits.maxFrames {
            throw .limit("frames", allowed: session.limits.maxFrames, requested: frames.count + 1)
        }
        if frames.isEmpty, openFrame == nil {
            openFrame = try AWebPFrame(session.source, chunk.payload, canvas: canvas, host: session.host)
        }
        try ByteReader(session.source, at: chunk.payload.upperBound).require(0)
        if let openFrame {
            frames.append(openFrame)
        } else {
            frames.append(try AWebPFrame(session.source, chunk.payload, canvas: canvas, host: session.host))
        }
        openFrame = nil
    }

    private mutating func read(_ chunk: AWebPChunk, _ reader: inout ByteReader) throws(CoderError) {
        switch chunk.tag {
        case .animation where storedLoopCount == nil:
            // Blue, green, red, alpha of the background; plays 16.
            guard chunk.payload.count >= 6 else { throw .corrupt("the animation chunk is too short", at: offset) }
            try reader.require(6)
            let color = try reader.u32LE()
            func channel(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: color >> shift) }
            background = RGBAColor(red: channel(16), green: channel(8), blue: channel(0), alpha: channel(24))
            storedLoopCount = Int(try reader.u16LE())
        case .lossy, .lossless, .alpha:
            throw .corrupt("an image of an animation is outside its frames", at: offset)
        case .profile, .exif, .xmp:
            try ByteReader(session.source, at: chunk.payload.upperBound).require(0)
            if self.range(of: chunk.tag) == nil { blobs.append((chunk.tag, chunk.payload)) }
        default: break
        }
    }

    /// Returns the range of the first chunk of a kind; nil if there is none, or none yet.
    func range(of tag: AWebPChunk.Tag) -> Range<Int>? { blobs.first { $0.tag == tag }?.range }
}
