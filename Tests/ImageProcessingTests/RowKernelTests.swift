import HostSystem
import ImageModel
@testable import ImageProcessing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Row kernels` {
    static let formats: [PixelFormat] = PixelFormat.Channels.allCases.flatMap { channels -> [PixelFormat] in
        let alphas: [PixelFormat.Alpha] = channels.hasAlpha ? [.straight, .premultiplied, .opaque] : [.none]
        return alphas.flatMap { alpha in [8, 16].map { PixelFormat(channels, bits: $0, alpha: alpha) } }
    }

    static let background = RGBAColor(red: 10, green: 100, blue: 200)

    /// Pairs that have a kernel, except CMYK on both sides, for which the pixel converter has no rule.
    static let pairs: [(from: PixelFormat, to: PixelFormat)] = formats.flatMap { from in
        formats.compactMap { to in
            guard to.channels != .cmyk,
                let row = try? RowConverter(from: from, to: to, background: background), row.hasKernel
            else { return nil }
            return (from, to)
        }
    }

    /// Returns valid noise for the format: full alpha if opaque, premultiplied samples below their alpha.
    private func noise(_ format: PixelFormat, _ width: Int) throws -> PixelBuffer {
        var random = SeededRandom(UInt64(width))
        let buffer = try PixelBuffer(size: PixelSize(width, 1), format: format)
        let (count, top) = (format.channels.count, format.bits == 8 ? 255 : 65_535)
        buffer.withMutableRow(0) { row in
            for x in 0..<width {
                var pixel = (0..<count).map { _ in Int.random(in: 0...top, using: &random) }
                if format.channels.hasAlpha {
                    if Int.random(in: 0..<4, using: &random) == 0 { pixel[count - 1] = x % 2 * top }
                    if format.alpha == .opaque { pixel[count - 1] = top }
                    if format.alpha == .premultiplied {
                        for c in 0..<count - 1 { pixel[c] = min(pixel[c], pixel[count - 1]) }
                    }
                }
                for (c, value) in pixel.enumerated() {
                    let at = x * count + c
                    if format.bits == 8 { row.setByte(at, UInt8(value)) } else { row.setPair(at, UInt16(value)) }
                }
            }
        }
        return buffer
    }

    @Test(arguments: pairs.indices) func `agree with the pixel-by-pixel conversion`(pair: Int) throws {
        let (from, to) = Self.pairs[pair]
        let row = try RowConverter(from: from, to: to, background: Self.background)
        for width in 1...67 {
            let source = try noise(from, width)
            let wanted = try PixelBuffer(size: source.size, format: to)
            source.withRow(0) { source in
                wanted.withMutableRow(0) { row.convertPixels(source, &$0, count: width) }
            }
            // The second of three rows is not aligned; the other rows must stay unchanged.
            let size = PixelSize(width, 3)
            let input = PixelBuffer.padded(try .of(size, from, source.packed), by: 1)
            let output = PixelBuffer.padded(try .of(size, to, [0xA5]), by: 1)
            input.withRow(1) { source in
                output.withMutableRow(1) { row.convert(source, &$0, count: width) }
            }
            let untouched = [UInt8](repeating: 0xA5, count: wanted.bytesPerRow)
            #expect(output.packed == untouched + wanted.packed + untouched, "\(from) to \(to), \(width) pixels")
        }
    }

    @Test func `exist for the most frequent conversions`() {
        func has(_ from: PixelFormat, _ to: PixelFormat) -> Bool {
            RowKernel(from: from, to: to, background: Self.background) != nil
        }
        let bgra = PixelFormat.bgra8
        let premultiplied = PixelFormat(.rgba, alpha: .premultiplied)
        #expect(has(.rgb8, .rgba8) && has(.rgb8, bgra) && has(.gray8, .rgb8) && has(.gray8, .rgba8))
        #expect(has(.rgba8, .rgb8) && has(bgra, .rgb8) && has(bgra, .rgba8) && has(.rgba8, bgra))
        #expect(has(.rgba16, .rgba8) && has(.rgb8, .rgb16) && has(.gray16, .gray8))
        #expect(has(.rgba8, premultiplied) && has(premultiplied, .rgba8) && has(.cmyk8, .rgb8))
        #expect(has(PixelFormat(.rgba, alpha: .opaque), .rgb8) && has(.rgba8, PixelFormat(.rgba, alpha: .opaque)))
        #expect(!has(.rgb8, .gray8) && !has(PixelFormat(.rgb, bits: 32, numeric: .float), .rgb8))
    }
}
