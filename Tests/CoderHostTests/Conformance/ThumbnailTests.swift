import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Reduced images: V6, V7, V10, C-06, C-07 and C-22 … C-24, with every coder.
@Suite struct `Thumbnails and byte budgets` {
    static let foreign = [
        ("TestImage.jpg", 80, 60), ("TestImage.png", 300, 300), ("TestImage.heic", 1440, 960),
        ("TestImageAnimated.webp", 990, 1050), ("TestICCProfile.jpg", 400, 300), ("TestHDR.heic", 600, 400),
        ("TestLoopCount.gif", 72, 48), ("TestEXIF.png", 150, 200),
    ]

    @Test(arguments: Fixture.valid)
    func `V6 without its aspect ratio a thumbnail has the size of the box, without enlarging`(fixture: Fixture)
        throws
    {
        let size = try #require(fixture.expect?.size)
        for box in [PixelSize(5, 7), PixelSize(50, 50)] {
            let image = try Bench.manager.decode(Bench.source(fixture), .thumbnail(box, .fill))

            // The box applies to the upright image.
            let seen = image.pendingOrientation.applied(to: size)
            let expected = PixelSize(min(box.width, seen.width), min(box.height, seen.height))
            #expect(image.pendingOrientation.applied(to: image.pixels.size) == expected)
            #expect(image.info.size == image.pixels.size)
        }
    }

    @Test(arguments: Fixture.valid)
    func `V7 with its aspect ratio a thumbnail touches the box`(fixture: Fixture) throws {
        let size = try #require(fixture.expect?.size)
        let image = try Bench.manager.decode(Bench.source(fixture), .thumbnail(PixelSize(6, 6)))

        let seen = image.pendingOrientation.applied(to: size)
        let got = image.pendingOrientation.applied(to: image.pixels.size)
        if seen.width <= 6 && seen.height <= 6 {
            #expect(got == seen)
        } else {
            let ratio = Double(seen.width) / Double(seen.height)
            let expected = ratio > 1 ? (6.0, 6 / ratio) : (6 * ratio, 6.0)
            #expect(abs(Double(got.width) - expected.0) <= 1 && abs(Double(got.height) - expected.1) <= 1)
        }
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"), arguments: foreign)
    func `V6 V7 V10 foreign images fit into fifty by fifty`(name: String, width: Int, height: Int) throws {
        let source = ImageSource(try #require(ForeignImage(name).bytes))
        let box = PixelSize(50, 50)
        let ratio = Double(width) / Double(height)
        let (w, h) = ratio > 1 ? (50.0, 50 / ratio) : (50 * ratio, 50.0)

        let exact = try Bench.manager.decode(source, .thumbnail(box, .fill))
        #expect(exact.pixels.size == PixelSize(min(50, width), min(50, height)))
        let fitted = try Bench.manager.decode(source, .thumbnail(box))
        let seen = fitted.pendingOrientation.applied(to: fitted.pixels.size)
        #expect(abs(Double(seen.width) - w) <= 1 && abs(Double(seen.height) - h) <= 1)

        var options = EncodeOptions()
        options.maxPixelSize = box
        let bytes = try Bench.manager.encode(Bench.manager.decode(source), to: "png", options)
        let written = try Bench.decode(bytes).seen().size
        #expect(abs(Double(written.width) - w) <= 1 && abs(Double(written.height) - h) <= 1)
    }

    @Test(arguments: Fixture.valid)
    func `every format meets a byte budget, down to one byte`(fixture: Fixture) throws {
        let size = try #require(fixture.expect?.size)
        for limit in [1, 40, 1000, 1 << 20] {
            let image = try Bench.manager.decode(Bench.source(fixture), .limited(toBytes: limit))

            let bytes = image.pixels.size.width * image.pixels.size.height * max(4, image.pixels.format.bytesPerPixel)
            #expect(bytes <= limit || image.pixels.size == PixelSize(1, 1))
            let whole = size.width * size.height * max(4, image.info.nativeFormat.bytesPerPixel)
            if whole <= limit { #expect(image.pixels.size == size) }
        }
    }

    @Test(arguments: ["jpeg", "webp", "png"] as [ImageFormat])
    func `C-07c a reduced image has every row`(format: ImageFormat) throws {
        let black = try DecodedImage.made(1029, 1029, .rgb8) { _, _, _ in 0 }
        let bytes = try Bench.encode(black, to: format).bytes

        let image = try Bench.manager.decode(ImageSource(bytes), .limited(toBytes: 1 << 20))

        #expect(image.pixels.size == PixelSize(512, 512))
        let pixels = try Pixels(image.pixels)
        #expect(pixels[0, 511] == [0, 0, 0, 255])
        #expect(pixels[0, 503] == [0, 0, 0, 255])
    }

    @Test(.enabled(if: ForeignImage("TestImageLarge.jpg").bytes != nil, "the corpus is not there"))
    func `C-06 C-22 C-23 the foreign large JPEG`() throws {
        let source = ImageSource(try #require(ForeignImage("TestImageLarge.jpg").bytes))

        let limited = try Bench.manager.decode(source, .limited(toBytes: 60 << 20))
        #expect(limited.pixels.size == PixelSize(4892, 3214))
        let thumbnail = try Bench.manager.decode(source, .thumbnail(PixelSize(400, 300)))
        #expect(thumbnail.pixels.size == PixelSize(400, 263))
        var options = EncodeOptions()
        options.maxPixelSize = PixelSize(4000, 4000)
        let bytes = try Bench.manager.encode(Bench.manager.decode(source), to: "jpeg", options)
        #expect(try Bench.decode(bytes).pixels.size == PixelSize(4000, 2629))
    }

    @Test(arguments: 1...8, [PixelSize(12, 12), PixelSize(9, 30), PixelSize(30, 4)])
    func `orientation is applied once to a thumbnail, and the box applies to the upright image`(
        orientation: Int, box: PixelSize
    ) throws {
        // The same image, already upright.
        let stored = try Bench.decode("images/orientation-1.jpg")
        let upright = try PixelConverter.upright(stored.pixels, Orientation(rawValue: orientation)!)
        let expected = try Resampler.resample(
            BufferRows(upright), to: upright.size.scaled(to: box))
        var options = DecodeOptions.thumbnail(box)
        options.appliesOrientation = true

        let image = try Bench.manager.decode(
            Bench.source(Fixture.named("images/orientation-\(orientation).jpg")), options)

        #expect(image.pixels.size == expected.size)
        #expect(image.info.orientation == .up)
        // The coder may have reduced the image, which is not bit-exact.
        #expect(try Pixels(image.pixels).difference(Pixels(expected)) < 4)
        if let exif = image.blob(.exif) { #expect(ExifOrientation.read(exif) == .up) }
    }

    @Test(arguments: 1...8, ["jpeg", "png", "webp", "heic", "avif", "gif"] as [ImageFormat])
    func `a thumbnail written in any format is upright`(orientation: Int, format: ImageFormat) throws {
        let source = Bench.source(Fixture.named("images/orientation-\(orientation).jpg"))
        let full = try Bench.decode("images/orientation-\(orientation).jpg").seen()

        let image = try Bench.manager.decode(source, .thumbnail(PixelSize(16, 16)))
        let again = try Bench.decode(Bench.encode(image, to: format, options: Bench.target(format).options).bytes)

        let seen = try again.seen()
        #expect(seen.size == full.size.scaled(to: PixelSize(16, 16)))
        // The F is dark in the same corner as at full size.
        #expect(seen.quarters == full.quarters)
    }

    @Test(arguments: ["images/photo.png", "images/rgba.png", "images/sixteen.png", "images/gray.png"])
    func `an image in bands has the same thumbnail as a whole image`(name: String) throws {
        let whole = try Bench.decode(name).pixels
        for box in [PixelSize(3, 3), PixelSize(20, 13), PixelSize(whole.size.width - 1, whole.size.height)] {
            let expected = try Resampler.resample(BufferRows(whole), to: whole.size.scaled(to: box))

            let image = try Bench.manager.decode(Bench.source(Fixture.named(name)), .thumbnail(box))

            #expect(image.pixels.packed == expected.packed)
        }
    }

    @Test func `an embedded thumbnail that is too small or has another aspect ratio is not used`() throws {
        for (size, isUsed) in [
            (PixelSize(40, 30), true), (PixelSize(39, 30), true), (PixelSize(32, 24), false),
            (PixelSize(36, 30), false),
            (PixelSize(15, 12), false),
            (PixelSize(40, 40), false), (PixelSize(400, 300), false),
        ] {
            let coder = ThumbnailedCoder(size)
            let manager = testHost().manager
            manager.addCoder(coder)

            let image = try manager.decode(badImage, .thumbnail(PixelSize(20, 15)))

            #expect(image.pixels.size == PixelSize(20, 15))
            #expect((image.pixels.packed[0] == 255) == isUsed, "\(size)")
        }
    }
}

extension DecodedImage {
    fileprivate var pendingOrientation: Orientation {
        info.orientationApplied ? .up : info.orientation ?? .up
    }
}

extension Pixels {
    /// The quarters that are darker than the mean.
    fileprivate var quarters: [Bool] {
        func mean(_ x: Range<Int>, _ y: Range<Int>) -> Double {
            var sum = 0
            for row in y { for column in x { sum += Int(self[column, row][1]) } }
            return Double(sum) / Double(max(1, x.count * y.count))
        }
        let all = mean(0..<width, 0..<height)
        return [
            mean(0..<width / 2, 0..<height / 2), mean(width / 2..<width, 0..<height / 2),
            mean(0..<width / 2, height / 2..<height), mean(width / 2..<width, height / 2..<height),
        ].map { $0 < all }
    }
}

/// A black image of 100 by 75 pixels with a red thumbnail of a given size.
private final class ThumbnailedCoder: ImageCoder {
    let descriptor = CoderDescriptor(
        id: "test.thumbnailed", version: "1", tier: .runTime, roles: [.decode, .items],
        formats: [
            PluginManifest.Format(
                id: "bad", name: "bad",
                signatures: [Signature(rules: [.bytes(at: 0, Array("BAD!".utf8), mask: [255, 255, 255, 255])])])
        ])
    private let small: PixelSize

    init(_ small: PixelSize) { self.small = small }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        Decoder(small)
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { throw .unsupported("it") }

    private final class Decoder: FrameDecoder {
        private let small: PixelSize
        private var isPassed = false
        private var selected = 0

        init(_ small: PixelSize) { self.small = small }

        func readHeader() -> ImageInfo {
            ImageInfo(size: selected == 0 ? PixelSize(100, 75) : small, nativeFormat: .rgb8, hasItems: selected == 0)
        }
        func pixelFormats() -> [PixelFormat] { [.rgb8] }
        func nextFrame() -> FrameInfo? {
            defer { isPassed = true }
            return isPassed ? nil : FrameInfo(index: 0, rect: PixelRect(readHeader().size))
        }
        func seek(toFrame index: Int) -> Int {
            isPassed = false
            return 0
        }
        func decode(_ request: FrameRequest, into place: CanvasPlace) -> FrameOutcome {
            paint(place, red: selected == 0 ? 0 : 255)
            return .complete
        }
        func item(at index: Int) -> ImageItem? {
            switch index {
            case 0: ImageItem(.primary, info: readHeader())
            case 1: ImageItem(.thumbnail, info: ImageInfo(size: small, nativeFormat: .rgb8), owner: 0)
            default: nil
            }
        }
        func select(item index: Int) {
            selected = index
            isPassed = false
        }

        private func paint(_ place: CanvasPlace, red: UInt8) {
            for y in 0..<place.rect.height {
                place.withMutableRow(y) { row in
                    for x in 0..<place.rect.width * 3 { row.setByte(x, x % 3 == 0 ? red : 0) }
                }
            }
        }
    }
}
