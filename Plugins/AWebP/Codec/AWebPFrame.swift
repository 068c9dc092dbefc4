import CoderPluginKit
import ImageModel

/// The stored facts of one frame: the position of its image, and how it is shown.
///
/// - Source: RFC 9649 section 2.7.1.1 ("ANMF").
struct AWebPFrame {
    /// The alpha chunk, if any, and the bitstream behind it, both with their headers.
    private(set) var start: Int
    private(set) var count: UInt32
    private var x, y: UInt32
    private var width, height: UInt16
    private(set) var milliseconds: UInt32
    private(set) var facts: Facts

    struct Facts: OptionSet {
        let rawValue: UInt8
        static let replaces = Facts(rawValue: 1)
        static let clears = Facts(rawValue: 2)
        static let hasAlphaChunk = Facts(rawValue: 4)
        static let isLossless = Facts(rawValue: 8)
        /// The alpha declaration of lossless data.
        static let declaresAlpha = Facts(rawValue: 16)
    }

    var bytes: Range<Int> { start..<start + Int(count) }
    var rect: PixelRect { PixelRect(x: Int(x), y: Int(y), width: Int(width), height: Int(height)) }
    var isLossless: Bool { facts.contains(.isLossless) }
    var hasAlpha: Bool { !facts.isDisjoint(with: [.hasAlphaChunk, .declaresAlpha]) }
    var disposal: Disposal { facts.contains(.clears) ? .background : .keep }

    /// The blending of the frame.
    ///
    /// Quirk: in lossless data the declaration of alpha is only a hint (RFC 9649 section 3.4): a pixel behind the end
    /// of its color table is transparent nevertheless. If the frame fills the canvas, the declaration counts, as in
    /// libwebp.
    func blend(on canvas: PixelSize) -> Blend {
        if facts.contains(.replaces) { return .source }
        if hasAlpha { return .over }
        return isLossless && rect != PixelRect(canvas) ? .over : .source
    }

    /// Whether lossless data without declared alpha replaces the pixels of the canvas. Then the file header may declare
    /// an opaque image, and the decoder sets alpha to its maximum.
    func fillsAlpha(on canvas: PixelSize) -> Bool { isLossless && !hasAlpha && blend(on: canvas) == .source }

    /// Reads the payload of a frame's chunk up to its pixels.
    ///
    ///     x ÷ 2 24 | y ÷ 2 24 | width - 1 24 | height - 1 24 | milliseconds 24 | reserved 6, no blending 1, clear 1
    ///     [ "ALPH" chunk ]  "VP8 " or "VP8L" chunk  [ other chunks ]
    ///
    /// - Throws: `.needsInput` or `.truncated` if more bytes are needed, `.corrupt`.
    init(_ source: ByteSource, _ payload: Range<Int>, canvas: PixelSize, host: HostServices) throws(CoderError) {
        guard payload.count >= 16 else { throw .corrupt("a frame is too short", at: payload.lowerBound) }
        var reader = ByteReader(source, at: payload.lowerBound)
        try reader.require(16)
        let x = try reader.u24LE() * 2
        let y = try reader.u24LE() * 2
        let declared = PixelSize(try reader.u24LE() + 1, try reader.u24LE() + 1)
        milliseconds = UInt32(try reader.u24LE())
        let flags = try reader.u8()
        facts = flags & 2 != 0 ? .replaces : []
        if flags & 1 != 0 { facts.insert(.clears) }

        var alphaStart: Int?
        while true {
            let start = reader.offset
            guard let chunk = try AWebPChunk(&reader, within: payload.upperBound) else {
                throw .corrupt("a frame has no image", at: payload.lowerBound)
            }
            switch chunk.tag {
            case .alpha where alphaStart == nil:
                alphaStart = start
                facts.insert(.hasAlphaChunk)
            case .lossy, .lossless:
                let size = try Self.readBitstream(chunk, source, &facts)
                if facts.isSuperset(of: [.isLossless, .hasAlphaChunk]) {
                    throw .corrupt("lossless data has an alpha chunk", at: start)
                }
                let rect = PixelRect(x: x, y: y, width: size.width, height: size.height)
                guard PixelRect(canvas).contains(rect) else {
                    throw .corrupt("a frame of \(rect) reaches outside the canvas of \(canvas)", at: start)
                }
                if size != declared { host.warn("a frame of \(declared) pixels has an image of \(size)") }
                self.x = UInt32(x)
                self.y = UInt32(y)
                width = UInt16(size.width)
                height = UInt16(size.height)
                self.start = alphaStart ?? start
                guard let count = UInt32(exactly: chunk.payload.upperBound - self.start) else {
                    throw .corrupt("a frame is too long", at: start)
                }
                self.count = count
                return
            default: break
            }
            try Self.skip(chunk, &reader, payload)
        }
    }

    private static func skip(
        _ chunk: AWebPChunk, _ reader: inout ByteReader, _ payload: Range<Int>
    ) throws(CoderError) {
        reader.offset = min(chunk.end, payload.upperBound)
        try reader.require(0)
    }

    /// Returns the size that a bitstream declares.
    ///
    /// - Source: RFC 6386 section 9.1; RFC 9649 section 3.4.
    private static func readBitstream(
        _ chunk: AWebPChunk, _ source: ByteSource, _ facts: inout Facts
    ) throws(CoderError) -> PixelSize {
        let damage = CoderError.corrupt("the header of a frame's image is damaged", at: chunk.payload.lowerBound)
        var reader = ByteReader(source, at: chunk.payload.lowerBound)
        if chunk.tag == .lossless {
            guard chunk.payload.count >= 5 else { throw damage }
            try reader.require(5)
            guard try reader.u8() == 0x2F else { throw damage }
            let bits = try reader.u32LE()
            guard bits >> 29 == 0 else { throw damage }
            facts.insert(.isLossless)
            if bits >> 28 & 1 == 1 { facts.insert(.declaresAlpha) }
            return PixelSize(Int(bits & 0x3FFF) + 1, Int(bits >> 14 & 0x3FFF) + 1)
        }
        guard chunk.payload.count >= 10 else { throw damage }
        try reader.require(10)
        let tag = try reader.u24LE()
        // A visible key frame of a known profile.
        guard tag & 1 == 0, tag >> 1 & 7 <= 3, tag >> 4 & 1 == 1, tag >> 5 < chunk.payload.count,
            try reader.consume([0x9D, 0x01, 0x2A])
        else { throw damage }
        let size = PixelSize(Int(try reader.u16LE() & 0x3FFF), Int(try reader.u16LE() & 0x3FFF))
        guard !size.isEmpty else { throw damage }
        return size
    }
}
