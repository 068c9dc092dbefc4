import CoderHost
import ImageModel
import TestSupport
import Testing

/// Parts, sizes and encoding; the digests of the fixtures cover whole images.
@Suite(.timeLimit(.minutes(40))) struct `JPEG 2000` {
    private static let manager = testHost(Repository.products).manager

    private func pixels(_ fixture: String, _ options: DecodeOptions = DecodeOptions()) throws -> PixelBuffer {
        try Self.manager.decode(try ImageSource(path: Repository.fixture(fixture)), options).pixels
    }

    @Test(arguments: ["jp2/levels.j2k", "jp2/tiles.j2k", "jp2/lossless.jp2", "jp2/alpha.jp2"])
    func `decodes a part to the pixels of the whole`(fixture: String) throws {
        let whole = try pixels(fixture)
        var options = DecodeOptions()
        options.region = PixelRect(x: 7, y: 3, width: 20, height: 11)

        let part = try pixels(fixture, options)

        #expect(part.size == PixelSize(20, 11))
        for y in 0..<11 {
            for x in 0..<20 { #expect(part.pixel(x, y) == whole.pixel(x + 7, y + 3)) }
        }
    }

    @Test func `decodes a smaller resolution that looks like the whole`() throws {
        let whole = try pixels("jp2/levels.j2k")
        let small = try pixels("jp2/levels.j2k", .thumbnail(PixelSize(40, 30)))

        #expect(small.size == PixelSize(40, 30))
        for (y, x) in [(2, 3), (15, 20), (28, 37)] {
            var sums = [0, 0, 0]
            for dy in 0..<4 {
                for dx in 0..<4 {
                    for (channel, value) in whole.pixel(4 * x + dx, 4 * y + dy).prefix(3).enumerated() {
                        sums[channel] += Int(value)
                    }
                }
            }
            for (channel, value) in small.pixel(x, y).prefix(3).enumerated() {
                #expect(abs(Int(value) - sums[channel] / 16) < 40, "\(x) \(y)")
            }
        }
    }

    @Test(arguments: ["images/f.png", "images/rgba.png", "jp2/gray.jp2", "jp2/sixteen-bit.jp2"])
    func `keeps every pixel without loss`(fixture: String) throws {
        let image = try Self.manager.decode(try ImageSource(path: Repository.fixture(fixture)))
        var options = CoderOptions()
        options["lossless"] = .bool(true)

        let bytes = try Self.manager.encode(image, to: "jp2", options: options)

        #expect(try Self.manager.decode(ImageSource(bytes)).pixels.packed == image.pixels.packed)
    }
}
