import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Work rows` {
    private func roundTrip(_ image: PixelBuffer) throws -> [UInt8] {
        try image.mapRows(to: image.format) { _ in }.packed
    }

    @Test func `preserve eight bits with straight alpha`() throws {
        for alpha in 1...255 {
            var bytes: [UInt8] = []
            for value in 0...255 { bytes += [UInt8(value), UInt8(255 - value), 17, UInt8(alpha)] }
            let image = try PixelBuffer.of(PixelSize(256, 1), .rgba8, bytes)
            #expect(try roundTrip(image) == bytes, "\(alpha)")
        }
    }

    @Test func `drop the color of transparent pixels`() throws {
        let image = try PixelBuffer.of(PixelSize(1, 1), .rgba8, [9, 8, 7, 0])
        #expect(try roundTrip(image) == [0, 0, 0, 0])
    }

    @Test(arguments: TransformImage.integerFormats.filter { $0.alpha != .straight })
    func `preserve all other formats at any width`(format: PixelFormat) throws {
        for width in 1...67 {
            let image = PixelBuffer.padded(
                try TransformImage.noise(PixelSize(width, 2), format, seed: UInt64(width)), by: format.bytesPerSample)
            #expect(try roundTrip(image) == image.packed, "\(width)")
        }
    }

    /// Sixteen bits with straight alpha lose the precision that alpha hides: half a unit, divided by the alpha.
    @Test(arguments: [PixelFormat.rgba16, .grayAlpha16, PixelFormat(.bgra, bits: 16)])
    func `stay within the precision that alpha leaves of sixteen bits`(format: PixelFormat) throws {
        let image = try TransformImage.noise(PixelSize(67, 5), format)
        let before = TransformImage.samples(image)
        let after = TransformImage.samples(try image.mapRows(to: format) { _ in })
        let count = format.channels.count
        for at in stride(from: 0, to: before.count, by: count) {
            let alpha = before[at + count - 1]
            #expect(after[at + count - 1] == alpha)
            guard alpha > 0 else { continue }
            for channel in 0..<count - 1 {
                let error = Double(abs(after[at + channel] - before[at + channel]))
                #expect(error <= 0.5 * 65_535 / Double(alpha) + 0.6)
            }
        }
    }

    @Test(arguments: TransformImage.integerFormats.filter { $0.channels != .cmyk })
    func `are red, green, blue and alpha, premultiplied`(format: PixelFormat) throws {
        let count = format.channels.count
        for width in [1, 2, 3, 8, 33, 67] {
            let image = try TransformImage.noise(PixelSize(width, 1), format, seed: 5)
            var work = [UInt16](repeating: 0, count: width * 4)
            image.loadWork(0, into: &work)
            let samples = TransformImage.samples(image).map { format.bits == 8 ? $0 * 257 : $0 }
            for x in 0..<width {
                let pixel = Array(samples[x * count..<(x + 1) * count])
                let alpha = format.channels.hasAlpha ? pixel[count - 1] : 65_535
                let order: [Int] =
                    switch format.channels {
                    case .gray, .grayAlpha: [0, 0, 0]
                    case .bgra: [2, 1, 0]
                    default: [0, 1, 2]
                    }
                let colors = order.map { index in
                    format.alpha == .straight
                        ? (Double(pixel[index]) * Double(alpha) / 65_535).rounded() : Double(pixel[index])
                }
                #expect(work[x * 4..<x * 4 + 4].map(Double.init) == colors + [Double(alpha)])
            }
        }
    }
}
