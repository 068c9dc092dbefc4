import CoderPluginKit
import ImageModel
import JPEGCodec

/// A progressive file of ten scans: a soft image with grain, of any size.
func tenScans(_ size: PixelSize, isFlat: Bool = false) throws -> [UInt8] {
    let buffer = try PixelBuffer(size: size, format: .rgb8)
    var noise: UInt32 = 7
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                noise = noise &* 1_664_525 &+ 1_013_904_223
                let soft = (offset / 3 + y * (offset % 3)) / 3 % 180
                row.storeBytes(of: isFlat ? 77 : UInt8(soft + Int(noise >> 27)), toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    let encoder = try JPEGEncoder(EncoderSession(options: ["jpeg.progressive": .bool(true)]))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: size, nativeFormat: .rgb8), to: sink)
    let surface = Surface(buffer)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: surface)
    try encoder.finish()
    return sink.written
}

/// A host that provides a file in chunks and decodes after every step.
final class Download {
    let bytes: [UInt8]
    let source: ByteSource
    let decoder: JPEGDecoder
    var buffer: PixelBuffer?
    var format = PixelFormat.rgb8
    var outcomes: [DecodeOutcome] = []
    var images: Int { outcomes.count { $0 != .complete } }

    init(_ bytes: some Sequence<UInt8>, limits: DecodeLimits = .default) throws {
        self.bytes = Array(bytes)
        source = ByteSource(self.bytes, arrived: 0)
        decoder = try JPEGDecoder(DecoderSession(source: source, limits: limits))
    }

    /// Makes bytes available up to an offset; the last ones complete the source.
    func arrive(upTo end: Int) {
        if end < bytes.count { source.arrive(end - source.available) } else { source.arrive() }
    }

    /// The surface to decode into; a new one for another format or size.
    private func pixels(_ size: PixelSize) throws(CoderError) -> PixelBuffer {
        if let buffer, buffer.size == size, buffer.format == format { return buffer }
        let new = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            new.withMutableRow(y) { row in
                for at in row.byteOffsets { row.storeBytes(of: 0x5A, toByteOffset: at, as: UInt8.self) }
            }
        }
        buffer = new
        return new
    }

    /// Decodes once; nil if the decoder needs more input.
    @discardableResult
    func ask(wantsPartial: Bool = true, reducedTo size: PixelSize? = nil) throws -> DecodeOutcome? {
        do throws(CoderError) {
            let header = try decoder.readHeader()
            let surface = Surface(try pixels(size ?? header.size))
            outcomes.append(
                try decoder.decode(DecodeRequest(scaledSize: size, wantsPartial: wantsPartial), into: surface))
            return outcomes.last
        } catch {
            if error.code != .needsInput || source.isComplete { throw error }
            return nil
        }
    }

    /// Provides the whole file, decoding after each step.
    func run(wantsPartial: Bool = true, step: () -> Int) throws {
        while outcomes.last != .complete {
            if source.isComplete { throw CoderError(.misuse, "requests input after the end") }
            arrive(upTo: source.available + step())
            try ask(wantsPartial: wantsPartial)
        }
    }
}
