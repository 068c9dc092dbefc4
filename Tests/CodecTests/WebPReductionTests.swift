import CoderPluginKit
import ImageModel
import TestSupport
import Testing
import WebPCodec

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("webp/\(name)"))) }

/// Decodes a reduced image; returns its samples row by row.
private func decode(
    _ bytes: [UInt8], to format: PixelFormat, _ size: PixelSize, host: HostServices = HostServices()
) throws -> [UInt8] {
    let decoder = try WebPDecoder(DecoderSession(source: ByteSource(bytes), host: host))
    _ = try decoder.readHeader()
    let buffer = try PixelBuffer(size: size, format: format)
    #expect(try decoder.decode(DecodeRequest(scaledSize: size), into: Surface(buffer)) == .complete)
    return (0..<size.height).flatMap { y in buffer.withRow(y) { row in unsafe row.withUnsafeBytes { unsafe Array($0) } }
    }
}

private func largestDifference(_ a: [UInt8], _ b: [UInt8]) -> Int {
    zip(a, b).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
}

/// Lossy images reduced by a whole number, which the plugin does itself.
@Suite(.timeLimit(.minutes(40))) struct `WebP reduction` {
    /// Another decoder rounds each plane twice, so a sample can differ by a few steps.
    private static let rounding = 4

    @Test(arguments: [
        ("lossy", "lossy-20x12", PixelSize(20, 12)), ("lossy-odd", "lossy-odd-13x7", PixelSize(13, 7)),
    ])
    func `shows the colors of another decoder`(name: String, expected: String, size: PixelSize) throws {
        let bytes = try file("\(name).webp")
        let known = try Array(file("\(expected).ppm").suffix(size.width * size.height * 3))

        let rgb = try decode(bytes, to: .rgb8, size)
        let rgba = try decode(bytes, to: PixelFormat(.rgba, alpha: .opaque), size)
        let bgra = try decode(bytes, to: PixelFormat(.bgra, alpha: .opaque), size)

        #expect(largestDifference(rgb, known) <= Self.rounding)
        let pixels = stride(from: 0, to: rgb.count, by: 3).map { Array(rgb[$0..<$0 + 3]) }
        #expect(rgba == pixels.flatMap { $0 + [255] })
        #expect(bgra == pixels.flatMap { [$0[2], $0[1], $0[0], 255] })
    }

    /// One color is its own mean, so every weight and every edge must add up.
    @Test(arguments: [PixelSize(2, 2), PixelSize(3, 2), PixelSize(17, 5), PixelSize(64, 129), PixelSize(1, 40)], 2...9)
    func `keeps an even color`(size: PixelSize, divisor: Int) throws {
        let buffer = try PixelBuffer(size: size, format: .rgb8)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for offset in row.byteOffsets { row.storeBytes(of: 200, toByteOffset: offset, as: UInt8.self) }
            }
        }
        let encoder = try WebPEncoder(EncoderSession(options: ["quality": .real(100)]))
        let sink = ByteSink()
        try encoder.begin(ImageInfo(size: size, nativeFormat: .rgb8), to: sink)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(buffer))
        try encoder.finish()

        let reduced = PixelSize(
            (size.width + divisor - 1) / divisor, (size.height + divisor - 1) / divisor)
        let samples = try decode(sink.written, to: .rgb8, reduced)

        #expect(samples.allSatisfy { abs(Int($0) - 200) <= 2 }, "\(Set(samples))")
    }

    @Test func `serves a host without memory for the planes`() throws {
        let bytes = try file("lossy.webp")
        let size = PixelSize(20, 12)

        // A plane of luma has 960 bytes, the planes of color half as many.
        let poor = RecordingHost(allowedMemory: 1000)
        let modest = try decode(bytes, to: .rgb8, size, host: poor.services())

        #expect(poor.mostReserved == 0)
        #expect(try modest == Array(file("lossy-20x12.ppm").suffix(720)))
        #expect(largestDifference(modest, try decode(bytes, to: .rgb8, size)) <= Self.rounding)
    }

    @Test func `refuses a file that ends early, and shows its rows`() throws {
        let bytes = try file("lossy-odd.webp")
        let size = PixelSize(13, 7)
        for count in [100, 150, bytes.count - 1] {
            let source = ByteSource(Array(bytes.prefix(count)))
            let decoder = try WebPDecoder(DecoderSession(source: source))
            _ = try decoder.readHeader()
            let buffer = try PixelBuffer(size: size, format: .rgb8)
            var code: CoderError.Code?
            do throws(CoderError) {
                _ = try decoder.decode(DecodeRequest(scaledSize: size), into: Surface(buffer))
            } catch { code = error.code }
            #expect(code == .truncated)
        }
    }
}
