import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The work of the host for an encoder: C-08, C-09, C-21, V10.
@Suite struct `Encode options` {
    /// An image that does not compress well.
    static let noise = Result {
        try DecodedImage.made(160, 120, .rgb8) { x, y, channel in
            UInt8(truncatingIfNeeded: (x &* 7919 ^ y &* 104_729 &+ channel &* 31) &* 2_654_435_761 >> 7)
        }
    }

    @Test(arguments: ["jpeg", "webp", "heic", "avif"] as [ImageFormat])
    func `C-09 a file size limit is met with the best possible quality`(format: ImageFormat) throws {
        let image = try Self.noise.get()
        func size(_ quality: Double) throws -> Int {
            var options = EncodeOptions()
            options.quality = quality
            return try Bench.manager.encode(image, to: format, options).count
        }
        let (worst, best) = (try size(1), try size(100))
        let limit = (worst + best) / 2
        var options = EncodeOptions()
        options.maxFileSize = limit

        let bytes = try Bench.manager.encode(image, to: format, options)

        #expect(bytes.count <= limit)
        #expect(bytes.count > worst)
        #expect(try Bench.decode(bytes).pixels.size == image.pixels.size)
        // The next higher quality would be too large.
        let quality = try (1...100).last { try size(Double($0)) == bytes.count }
        if let quality, quality < 100 { #expect(try size(Double(quality + 1)) > limit) }
    }

    @Test func `the error for an unreachable file size states the smallest size`() throws {
        let image = try Self.noise.get()
        var options = EncodeOptions()
        options.maxFileSize = 100

        let error = #expect(throws: CoderError.self) { _ = try Bench.manager.encode(image, to: "jpeg", options) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.limit?.allowed == 100)
        #expect(error?.hint?.contains("lowest quality") == true)
        let lossless = #expect(throws: CoderError.self) { _ = try Bench.manager.encode(image, to: "png", options) }
        #expect(lossless?.hint?.contains("lossy format") == true)
    }

    @Test func `a format without a quality meets a sufficient file size`() throws {
        var options = EncodeOptions()
        options.maxFileSize = 1 << 20
        options.quality = 50

        #expect(try Bench.manager.encode(Self.noise.get(), to: "png", options).count <= 1 << 20)
    }

    @Test(arguments: [RGBAColor.black, .white, RGBAColor(red: 0, green: 128, blue: 255)])
    func `C-08 the background is visible behind transparent pixels`(color: RGBAColor) throws {
        let clear = try DecodedImage.made(16, 16, .rgba8) { _, _, channel in channel == 3 ? 0 : 77 }
        var options = EncodeOptions(["quality": .integer(100), "jpeg.subsampling": .string("444")])
        options.background = color

        let again = try Bench.decode(Bench.manager.encode(clear, to: "jpeg", options))

        let pixel = try Pixels(again.pixels)[1, 1]
        #expect(abs(Int(pixel[0]) - Int(color.red)) <= 2)
        #expect(abs(Int(pixel[1]) - Int(color.green)) <= 2)
        #expect(abs(Int(pixel[2]) - Int(color.blue)) <= 2)
    }

    @Test(arguments: Bench.targets)
    func `V10 every encoder meets a maximum size`(target: Bench.Target) throws {
        var options = EncodeOptions(target.options)
        options.maxPixelSize = PixelSize(50, 50)

        let bytes = try Bench.manager.encode(Self.noise.get(), to: target.format, options)

        #expect(try Bench.decode(bytes).pixels.size == PixelSize(50, 38))
    }

    @Test func `V10 a maximum size applies to the upright image and never enlarges`() throws {
        let image = try Bench.decode("images/orientation-6.jpg")
        var options = EncodeOptions()
        options.maxPixelSize = PixelSize(100, 10)

        let small = try Bench.decode(Bench.manager.encode(image, to: "jpeg", options)).seen()
        #expect(small.size == PixelSize(17, 31).scaled(to: PixelSize(100, 10)))
        options.maxPixelSize = PixelSize(1000, 1000)
        #expect(try Bench.decode(Bench.manager.encode(image, to: "jpeg", options)).seen().size == PixelSize(17, 31))
    }

    @Test(arguments: ["jpeg", "heic", "avif"] as [ImageFormat])
    func `C-21 the host creates a thumbnail of at most 320 pixels`(format: ImageFormat) throws {
        let image = try DecodedImage.made(400, 300, .rgb8) { x, y, channel in UInt8([x / 2, y / 2, 90][channel]) }
        var options = EncodeOptions()
        options.embedsThumbnail = true

        let bytes = try Bench.manager.encode(image, to: format, options)

        let sizes = try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            try session.thumbnails().map(\.size)
        }
        #expect(sizes == [PixelSize(320, 240)])
        #expect(try Bench.decode(bytes).pixels.size == PixelSize(400, 300))
    }

    @Test func `C-21 a thumbnail that the format cannot store is left out with a warning`() throws {
        var options = EncodeOptions()
        options.embedsThumbnail = true

        let report = try Bench.manager.encode(Self.noise.get(), to: "png", options, into: MemorySink())

        #expect(report.warnings.contains { $0.contains("cannot store a thumbnail") })
    }
}
