import HostSystem
import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

/// Expected values computed by independent code from BT.2100-2, BT.2390-11 and BT.709, in double precision.
@Suite struct `Tone mapping` {
    private func gray(_ transfer: UInt8, _ codes: [Int], _ mapping: ToneMapping = .standard) throws -> [Int] {
        let points = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)
        return try ColorTransform(from: .codePoints(points), .gray16, to: .sRGB, .gray16, toneMapping: mapping)
            .samples(codes)
    }

    private func colors(_ transfer: UInt8, _ codes: [Int]) throws -> [Int] {
        let points = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)
        return try ColorTransform(from: .codePoints(points), .rgb16, to: .sRGB, .rgb16).samples(codes)
    }

    /// PQ of 0.1, 1, 10, 50, 100, 203, 400, 1000 and 4000 cd/m².
    @Test func `PQ becomes the documented levels`() throws {
        let codes = [0, 4085, 9827, 19_641, 28_854, 33_297, 38_055, 42_767, 49_271, 59_150, 65_535]
        let wanted = [0, 417, 3951.5, 16_117.2, 34_959.2, 47_734.2, 58_849.6, 64_184, 65_535, 65_535, 65_535]
        for (value, expected) in zip(try gray(16, codes), wanted) { #expect(abs(Double(value) - expected) <= 40) }
    }

    /// 10, 25, 50, 75, 90 and 100 %; 75 % is diffuse white (BT.2408), as 203 cd/m² is in PQ.
    @Test func `HLG becomes the documented levels`() throws {
        let codes = [0, 6554, 16_384, 32_768, 49_151, 58_982, 65_535]
        let wanted = [0, 4153.4, 15_789, 35_182.5, 58_858.8, 65_046.6, 65_535]
        for (value, expected) in zip(try gray(18, codes), wanted) { #expect(abs(Double(value) - expected) <= 40) }
    }

    @Test func `colors keep the ratio of their light`() throws {
        for (value, expected) in zip(try colors(16, [38_000, 30_000, 25_000]), [65_535, 29_069.4, 20_155]) {
            #expect(abs(Double(value) - expected) <= 60)
        }
        for (value, expected) in zip(try colors(18, [40_000, 30_000, 20_000]), [49_860.9, 30_760.5, 20_013.2]) {
            #expect(abs(Double(value) - expected) <= 60)
        }
    }

    @Test(arguments: [16, 18] as [UInt8]) func `more light is never darker`(transfer: UInt8) throws {
        let ramp = Array(stride(from: 0, through: 65_535, by: 15))
        let levels = try gray(transfer, ramp)
        // Except for the rounding of the tables, where the curve is flat.
        #expect(zip(levels, levels.dropFirst()).allSatisfy { $0 <= $1 + 1 })
        #expect(levels.first == 0 && levels.last == 65_535)
    }

    @Test func `a higher peak leaves room above diffuse white`() throws {
        // 1000 cd/m²: white with the standard peak, below it with 4000.
        #expect(try gray(16, [49_271], .standard) == [65_535])
        #expect(try gray(16, [49_271], ToneMapping(peak: 4000))[0] < 65_000)
    }

    @Test func `a peak below the screen's white keeps light unchanged`() throws {
        // 100 of 203 cd/m² are 0.4926 of the light, 0.7305 as sRGB.
        let value = try gray(16, [33_297], ToneMapping(peak: 203))[0]
        #expect(abs(Double(value) / 65_535 - 0.7305) < 0.001)
    }

    /// Rows are converted in vectors, and in chunks of 256 pixels.
    @Test(arguments: [
        (PixelFormat(.rgb, bits: 16), PixelFormat.rgb8), (PixelFormat(.rgba, bits: 16), .rgba8),
        (PixelFormat(.rgba, bits: 16, alpha: .premultiplied), .bgra8), (.bgra8, PixelFormat(.rgba, bits: 16)),
        (PixelFormat(.gray, bits: 16), .gray8), (PixelFormat(.rgb, bits: 16), PixelFormat(.rgb, bits: 16)),
    ])
    func `a pixel of a row equals the pixel alone`(source: PixelFormat, target: PixelFormat) throws {
        var random = SeededRandom(7)
        let count = 531
        let pixel = source.bytesPerPixel
        var row = (0..<count * pixel).map { _ in UInt8.random(in: 0...255, using: &random) }
        for x in 0..<pixel { (row[x], row[(count - 1) * pixel + x]) = (0, 255) }
        for transfer in [13, 16, 18] as [UInt8] {
            let points = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)
            let transform = try ColorTransform(from: .codePoints(points), source, to: .sRGB, target)
            func convert(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
                let pixels = bytes.count / pixel
                var result = [UInt8](repeating: 0, count: pixels * target.bytesPerPixel)
                Array(bytes).withSpan { source in
                    result.withMutableSpan { transform.convert(source, &$0, count: pixels) }
                }
                return result
            }
            let alone = (0..<count).flatMap { convert(row[$0 * pixel..<($0 + 1) * pixel]) }
            #expect(convert(row[...]) == alone)
        }
    }

    @Test func `invalid numbers are replaced`() {
        #expect(ToneMapping(peak: .nan, white: .infinity) == .standard)
        #expect(ToneMapping(peak: -5, white: 1e9) == ToneMapping(peak: 1, white: 10_000))
    }
}
