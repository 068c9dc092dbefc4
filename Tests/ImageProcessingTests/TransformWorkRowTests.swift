import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Work rows` {
    private func roundTrip(_ picture: PixelBuffer) throws -> [UInt8] {
        try picture.mapRows(to: picture.format) { _ in }.packed
    }

    @Test func `give eight bits with straight alpha back as they were`() throws {
        for alpha in 1...255 {
            var bytes: [UInt8] = []
            for value in 0...255 { bytes += [UInt8(value), UInt8(255 - value), 17, UInt8(alpha)] }
            let picture = try PixelBuffer.of(PixelSize(256, 1), .rgba8, bytes)
            #expect(try roundTrip(picture) == bytes, "\(alpha)")
        }
    }

    @Test func `forget the color under clear pixels`() throws {
        let picture = try PixelBuffer.of(PixelSize(1, 1), .rgba8, [9, 8, 7, 0])
        #expect(try roundTrip(picture) == [0, 0, 0, 0])
    }

    @Test(arguments: TransformPicture.integerFormats.filter { $0.alpha != .straight })
    func `give everything else back as it was, at any width`(format: PixelFormat) throws {
        for width in 1...67 {
            let picture = PixelBuffer.padded(
                try TransformPicture.noise(PixelSize(width, 2), format, seed: UInt64(width)), by: format.bytesPerSample)
            #expect(try roundTrip(picture) == picture.packed, "\(width)")
        }
    }

    /// Sixteen bits of straight alpha lose what alpha hides: half a unit of it, seen through the alpha.
    @Test(arguments: [PixelFormat.rgba16, .grayAlpha16, PixelFormat(.bgra, bits: 16)])
    func `stay within what the alpha leaves of sixteen bits`(format: PixelFormat) throws {
        let picture = try TransformPicture.noise(PixelSize(67, 5), format)
        let before = TransformPicture.samples(picture)
        let after = TransformPicture.samples(try picture.mapRows(to: format) { _ in })
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

    @Test(arguments: TransformPicture.integerFormats.filter { $0.channels != .cmyk })
    func `are red, green, blue and alpha, premultiplied`(format: PixelFormat) throws {
        let count = format.channels.count
        for width in [1, 2, 3, 8, 33, 67] {
            let picture = try TransformPicture.noise(PixelSize(width, 1), format, seed: 5)
            var work = [UInt16](repeating: 0, count: width * 4)
            picture.loadWork(0, into: &work)
            let samples = TransformPicture.samples(picture).map { format.bits == 8 ? $0 * 257 : $0 }
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
