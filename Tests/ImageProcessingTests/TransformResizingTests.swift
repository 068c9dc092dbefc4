import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `A resized image` {
    /// Returns nine equal fields, so that a crop is visible.
    private func fields(_ size: PixelSize) throws -> PixelBuffer {
        try TransformImage.paint(size) { x, y in
            let (column, row) = (x * 3 / size.width, y * 3 / size.height)
            return RGBAColor(red: UInt8(column * 100), green: UInt8(row * 100), blue: 7)
        }
    }

    @Test func `stretches without preserving the aspect`() throws {
        let result = try Resizing(PixelSize(30, 90)).transform(try fields(PixelSize(90, 30)))
        #expect(result.size == PixelSize(30, 90))
        #expect(result.color(at: (3, 3)) == RGBAColor(red: 0, green: 0, blue: 7))
        #expect(result.color(at: (26, 85)) == RGBAColor(red: 200, green: 200, blue: 7))
    }

    @Test func `is centered between transparent bars`() throws {
        let result = try Resizing(PixelSize(60, 60), .contain).transform(try fields(PixelSize(90, 30)))
        #expect(result.size == PixelSize(60, 60))
        #expect(result.color(at: (30, 19)) == TransformImage.clear)
        #expect(result.color(at: (2, 21)) == RGBAColor(red: 0, green: 0, blue: 7))
        #expect(result.color(at: (57, 38)) == RGBAColor(red: 200, green: 200, blue: 7))
        #expect(result.color(at: (30, 40)) == TransformImage.clear)
    }

    @Test func `is cropped to the middle`() throws {
        let result = try Resizing(PixelSize(20, 20), .cover).transform(try fields(PixelSize(90, 30)))
        #expect(result.size == PixelSize(20, 20))
        #expect(result.color(at: (1, 1)) == RGBAColor(red: 100, green: 0, blue: 7))
        #expect(result.color(at: (18, 18)) == RGBAColor(red: 100, green: 200, blue: 7))
    }

    @Test func `follows the rounding rule of thumbnails`() throws {
        // 100·40/333 = 12.01…, rounded up.
        #expect(Resizing(PixelSize(40, 40), .inside).outputSize(for: PixelSize(333, 100)) == PixelSize(40, 13))
        #expect(
            Resizing(PixelSize(600, 600), .inside).outputSize(for: PixelSize(300, 100)) == PixelSize(600, 200))
        #expect(Resizing(PixelSize(40, 40), .contain).outputSize(for: PixelSize(333, 100)) == PixelSize(40, 40))
        #expect(Resizing(PixelSize(40, 40), .cover).outputSize(for: PixelSize(1, 999)) == PixelSize(40, 40))
        #expect(Resizing(PixelSize(40, 40), .outside).outputSize(for: PixelSize(20, 10)) == PixelSize(80, 40))
    }

    @Test(arguments: Fit.allCases, TransformImage.integerFormats)
    func `keeps the format unless there are bars`(mode: Fit, format: PixelFormat) throws {
        let image = try TransformImage.noise(PixelSize(12, 7), format)
        let result = try Resizing(PixelSize(9, 9), mode).transform(image)
        if mode != .contain || format.hasTransparency {
            #expect(result.format == format)
        } else {
            #expect(result.format.hasTransparency && result.format.bits == format.bits)
        }
        let even = try PixelBuffer.of(PixelSize(12, 7), format, [UInt8](repeating: 0xFF, count: 16))
        let large = TransformImage.samples(try Resizing(PixelSize(31, 20), .fill).transform(even))
        #expect(large.allSatisfy { $0 == (format.bits == 8 ? 255 : 65_535) })
    }

    @Test func `gives the same buffer for the same size`() throws {
        let image = try TransformImage.noise(PixelSize(5, 4), PixelFormat(.rgb, bits: 32, numeric: .float))
        for mode in Fit.allCases {
            #expect(try Resizing(PixelSize(5, 4), mode).transform(image) === image)
        }
    }
}
