import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Color filters` {
    private func filtered(_ filter: ColorFilter, _ bytes: [UInt8], _ format: PixelFormat = .rgba8) throws -> [UInt8] {
        try filter.transform(try PixelBuffer.of(PixelSize(1, 1), format, bytes)).packed
    }

    @Test func `match values computed by hand`() throws {
        #expect(try filtered(.invert, [38, 2, 255, 255]) == [217, 253, 0, 255])
        #expect(try filtered(.invert, [38, 2, 255, 7]) == [217, 253, 0, 7])
        // 0.2126·100 + 0.7152·150 + 0.0722·200 = 142.98
        #expect(try filtered(.grayscale, [100, 150, 200, 255]) == [143, 143, 143, 255])
        // Rows 0.393 0.769 0.189, 0.349 0.686 0.168, 0.272 0.534 0.131: 192.45, 171.4, 133.5
        #expect(try filtered(.sepia(1), [100, 150, 200, 255]) == [192, 171, 134, 255])
        #expect(try filtered(.sepia(0), [100, 150, 200, 255]) == [100, 150, 200, 255])
        // 1.5·(v + 0.1·255 − 127.5) + 127.5 = 124.5, 199.5, 274.5
        #expect(
            try filtered(.adjust(brightness: 0.1, contrast: 1.5), [100, 150, 200, 255]) == [125, 200, 255, 255])
        #expect(try filtered(.adjust(saturation: 0), [100, 150, 200, 255]) == [143, 143, 143, 255])
        // (100/255 as sRGB: 0.12744; twice that: 0.25488, which is 0.54231 or 138.29)
        #expect(try filtered(.exposure(1), [100, 0, 255, 255]) == [138, 0, 255, 255])
        #expect(try filtered(.exposure(0), [100, 1, 255, 9]) == [100, 1, 255, 9])
    }

    @Test(arguments: TransformImage.integerFormats.filter { $0.channels != .cmyk })
    func `invert every format, and restore it when applied twice`(format: PixelFormat) throws {
        let image = try TransformImage.noise(PixelSize(17, 3), format)
        let inverted = try ColorFilter.invert.transform(image)
        #expect(inverted.format == format)
        let again = TransformImage.samples(try ColorFilter.invert.transform(inverted))
        let (count, most) = (format.channels.count, format.bits == 8 ? 255 : 65_535)
        let (before, after) = (TransformImage.samples(image), TransformImage.samples(inverted))
        for at in stride(from: 0, to: before.count, by: count) {
            let alpha = format.channels.hasAlpha ? before[at + count - 1] : most
            let top = format.alpha == .premultiplied ? alpha : most
            for channel in 0..<(format.channels.hasAlpha ? count - 1 : count) where alpha > 0 {
                let isExact = format.bits == 8 || format.alpha != .straight
                let error = isExact ? 0 : 65_535 / alpha + 1
                #expect(abs(after[at + channel] - (top - before[at + channel])) <= error)
                #expect(abs(again[at + channel] - before[at + channel]) <= 2 * error)
            }
        }
    }

    @Test(arguments: [8, 16])
    func `invert CMYK as RGB`(bits: Int) throws {
        let image = try TransformImage.noise(PixelSize(17, 3), PixelFormat(.cmyk, bits: bits))
        let color = try PixelConverter.convert(image, to: PixelFormat(.rgb, bits: bits))
        let inverted = try ColorFilter.invert.transform(image)
        #expect(inverted.format == color.format)
        let most = bits == 8 ? 255 : 65_535
        #expect(TransformImage.samples(inverted) == TransformImage.samples(color).map { most - $0 })
    }

    @Test func `convert gray to color only if needed`() throws {
        let gray = try PixelBuffer.of(PixelSize(2, 2), .gray8, [9, 99])
        #expect(try ColorFilter.sepia(0.5).transform(gray).format == .rgb8)
        #expect(try ColorFilter.exposure(1).transform(gray).format == .gray8)
        #expect(try ColorFilter.adjust(contrast: 2).transform(gray).format == .gray8)
    }
}
