import CoderPluginKit
import Glibc
import ImageModel
import Testing
import WebPCodec

/// Large enough to be decoded in several slices; steps of color in both directions, so that the file stays small.
private func image() -> PixelBuffer? {
    let buffer = try? PixelBuffer(size: PixelSize(1600, 2600), format: .rgb8)
    var row: [UInt8] = []
    for x in 0..<1600 {
        let slow = UInt8(x / 8)
        row += [slow, UInt8(x / 50) * 7, 255 - slow]
    }
    for y in 0..<2600 {
        buffer?.withMutableRow(y) { target in
            unsafe target.withUnsafeMutableBytes { unsafe $0.copyBytes(from: row) }
            target.storeBytes(of: UInt8(y / 11), toByteOffset: y % 1600 * 3, as: UInt8.self)
        }
    }
    return buffer
}

private func encoded(_ options: CoderOptions) throws -> [UInt8] {
    let buffer = try #require(image())
    let encoder = try WebPEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: buffer.size, nativeFormat: buffer.format), to: sink)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: Surface(buffer))
    try encoder.finish()
    return sink.written
}

private func isEqual(_ a: PixelBuffer, _ b: PixelBuffer) -> Bool {
    a.size == b.size
        && (0..<a.size.height).allSatisfy { y in
            a.withRow(y) { one in
                b.withRow(y) { two in
                    unsafe one.withUnsafeBytes { one in
                        unsafe two.withUnsafeBytes { unsafe memcmp(one.baseAddress!, $0.baseAddress!, one.count) == 0 }
                    }
                }
            }
        }
}

@Suite struct `Large WebP from a growing source` {
    @Test(arguments: [false, true], [997, 2003]) func `continues where it stopped`(isLossless: Bool, step: Int) throws {
        let bytes = try encoded(["lossless": .bool(isLossless), "effort": .integer(0)])
        let source = ByteSource(bytes, arrived: min(step, 64))
        let decoder = try WebPDecoder(DecoderSession(source: source))
        let size = try decoder.readHeader().size
        let buffer = try PixelBuffer(size: size, format: .rgb8)
        let next = try arrive(bytes, source, decoder, DecodeRequest(wantsPartial: true), into: buffer, step: step)
        #expect(next > 0, "no row was shown early")
        let whole = try WebPDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try whole.readHeader()
        let expected = try PixelBuffer(size: size, format: .rgb8)
        #expect(try whole.decode(DecodeRequest(), into: Surface(expected)) == .complete)
        #expect(isEqual(buffer, expected))
        if isLossless { #expect(isEqual(buffer, try #require(image()))) }
    }

    /// Decodes while bytes arrive, step by step; returns the end of the rows that were shown early.
    private func arrive(
        _ bytes: [UInt8], _ source: ByteSource, _ decoder: WebPDecoder, _ request: DecodeRequest,
        into buffer: PixelBuffer, step: Int
    ) throws -> Int {
        var (next, isDone) = (0, false)
        while !isDone {
            do throws(CoderError) {
                switch try decoder.decode(request, into: Surface(buffer)) {
                case .complete: isDone = true
                case .partial(let rect):
                    #expect(rect.y >= next && rect.height > 0)
                    next = rect.y + rect.height
                }
            } catch {
                if error.code != .needsInput || source.isComplete { throw error }
            }
            if source.available + step < bytes.count { source.arrive(step) } else { source.arrive() }
        }
        return next
    }

    /// The planes of a reduction are used again and again; slices of other lengths must not change a sample.
    @Test(arguments: [2, 3, 7, 100], [701, 6007]) func `is reduced as it arrives`(divisor: Int, step: Int) throws {
        let bytes = try encoded(["effort": .integer(0)])
        let size = PixelSize((1600 + divisor - 1) / divisor, (2600 + divisor - 1) / divisor)
        let request = DecodeRequest(scaledSize: size, wantsPartial: true)
        let source = ByteSource(bytes, arrived: 64)
        let decoder = try WebPDecoder(DecoderSession(source: source))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: size, format: .rgb8)
        let next = try arrive(bytes, source, decoder, request, into: buffer, step: step)
        #expect(next > 0, "no row was shown early")
        let whole = try WebPDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try whole.readHeader()
        let expected = try PixelBuffer(size: size, format: .rgb8)
        #expect(try whole.decode(DecodeRequest(scaledSize: size), into: Surface(expected)) == .complete)
        #expect(isEqual(buffer, expected))
        // Each row of the image is a ramp of red from 0 to 199, apart from one pixel of another color.
        let middle = expected.withRow(size.height / 2) { row in
            (0..<size.width).map { unsafe row.unsafeLoad(fromByteOffset: 3 * $0, as: UInt8.self) }
        }
        for (x, red) in middle.enumerated() {
            let ramp = (Double(x) + 0.5) * Double(divisor) / 8 - 0.5
            #expect(abs(Double(red) - min(ramp, 199)) <= 32, "\(x)")
        }
    }
}
