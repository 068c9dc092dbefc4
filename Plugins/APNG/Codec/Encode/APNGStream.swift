internal import CoderPluginKit
internal import ImageModel
internal import PNGCodec

/// A compressed frame and its fcTL fields.
struct EncodedFrame {
    var rect: PixelRect
    var delay: FrameDelay
    var disposal: Disposal = .keep
    var blend: Blend
    /// A zlib stream.
    var data: [UInt8]
}

/// Writes the chunks of a PNG or an APNG.
///
///     acTL: frames (4) | plays (4)
///     fcTL: sequence (4) | width (4) | height (4) | x (4) | y (4) | delay (2) | of (2) | disposal (1) | blend (1)
///     fdAT: sequence (4) | data
///
/// - Source: PNG 3rd edition, 11.3.6.
final class APNGStream {
    /// The size at which a long stream is split into chunks.
    private static let piece = 1 << 20

    private let sink: ByteSink
    private var length = 0
    private var sequence: UInt32 = 0
    private var frames: UInt32 = 0
    private var control: (offset: Int, plays: UInt32)?

    init(_ sink: ByteSink) { self.sink = sink }

    /// Writes the chunks in front of the frames.
    ///
    /// - Parameter plays: 0 is infinite; nil for a still.
    func begin(_ preamble: [UInt8], plays: UInt32?) throws(CoderError) {
        try put(preamble)
        guard let plays else { return }
        control = (length, plays)
        try put(controlChunk(frames: 0, plays))
    }

    func write(_ frame: EncodedFrame) throws(CoderError) {
        if control != nil {
            try put(Self.chunk("fcTL", next() + Self.fields(frame)))
        }
        let isFirst = frames == 0
        frames += 1
        for first in stride(from: 0, to: frame.data.count, by: Self.piece) {
            let part = frame.data[first..<min(first + Self.piece, frame.data.count)]
            try put(isFirst ? Self.chunk("IDAT", Array(part)) : Self.chunk("fdAT", next() + part))
        }
    }

    /// Writes a part of a still.
    func write(imageData: [UInt8]) throws(CoderError) {
        if !imageData.isEmpty { try put(Self.chunk("IDAT", imageData)) }
    }

    /// Writes the end chunk, and the number of frames into acTL.
    func finish() throws(CoderError) {
        try put(Self.chunk("IEND", []))
        if let control { try sink.overwrite(controlChunk(frames: frames, control.plays), at: control.offset) }
    }

    private func put(_ bytes: [UInt8]) throws(CoderError) {
        try sink.write(bytes)
        length += bytes.count
    }

    private func next() -> [UInt8] {
        sequence += 1
        return bigEndian(sequence - 1)
    }

    private func controlChunk(frames: UInt32, _ plays: UInt32) -> [UInt8] {
        Self.chunk("acTL", bigEndian(frames) + bigEndian(plays))
    }

    private static func fields(_ frame: EncodedFrame) -> [UInt8] {
        let rect = frame.rect
        var bytes = [rect.width, rect.height, rect.x, rect.y].flatMap { bigEndian(UInt32($0)) }
        bytes += [frame.delay.numerator, frame.delay.denominator].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        return bytes + [UInt8(frame.disposal.rawValue), UInt8(frame.blend.rawValue)]
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 12)
        bytes += bigEndian(UInt32(data.count))
        let type = Array(name.utf8)
        bytes += type
        bytes += data
        return bytes + bigEndian(chunkChecksum(data, after: chunkChecksum(type)))
    }
}
