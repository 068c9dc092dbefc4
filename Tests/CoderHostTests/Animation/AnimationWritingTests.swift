import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Writing frames` {
    private static let manager = testHost(Repository.products).manager

    /// The digest is Pillow's for the third frame.
    @Test func `writes one frame of an animation as a still`() throws {
        let animation = try AnimatedImage(
            try ImageSource(path: Repository.fixture("images/three-frames.gif")), manager: Self.manager)

        let image = try animation.image(at: 2)
        let written = try Self.manager.decode(ImageSource(try Self.manager.encode(image, to: "png")))

        #expect(image.info.frameCount == 1)
        #expect(!image.info.isAnimated)
        #expect(image.format == "gif")
        #expect(written.info.size == PixelSize(31, 17))
        #expect(PixelDigest.of(written.pixels).hasPrefix("11da4648cea3"))
        #expect(throws: CoderError.self) { try animation.image(at: 3) }
    }

    @Test func `keeps the orientation with a frame`() throws {
        let path = Repository.fixture("images/orientation-6.jpg")
        let image = try AnimatedImage(try ImageSource(path: path), manager: Self.manager).image(at: 0)

        let written = try Self.manager.decode(ImageSource(try Self.manager.encode(image, to: "jpeg")))

        #expect(image.info.orientation?.rawValue == 6)
        #expect(image.metadata.contains { $0.kind == .exif })
        #expect(written.info.orientation?.rawValue == 6)
    }

    /// A plugin may deliver transparent pixels for an image declared opaque.
    @Test(arguments: ["apng", "avif", "gif", "webp"] as [ImageFormat])
    func `passes no transparent pixel to the encoder of an opaque animation`(format: ImageFormat) throws {
        let size = PixelSize(8, 8)
        let sink = MemorySink()
        let facts = ImageInfo(size: size, nativeFormat: .rgba8, hasAlpha: false)

        let encoder = try Self.manager.makeAnimationEncoder(to: format, of: facts, into: sink)
        for color in [[200, 0, 0, 255], [0, 0, 200, 0]] as [[UInt8]] {
            try encoder.add(try .of(size, .rgba8, color), duration: .milliseconds(100))
        }
        try encoder.finish()

        let animation = try AnimatedImage(ImageSource(sink.bytes), manager: Self.manager)
        #expect(animation.frameCount == 2)
        for index in 0..<animation.frameCount {
            let samples = PixelDigest.rgba8(try animation.frame(at: index).pixels)
            #expect(stride(from: 3, to: samples.count, by: 4).allSatisfy { samples[$0] == 255 })
        }
    }

    @Test(arguments: ["apng", "avif", "gif", "webp"] as [ImageFormat])
    func `needs only the size and the format`(format: ImageFormat) throws {
        let size = PixelSize(8, 8)
        let sink = MemorySink()
        let facts = ImageInfo(size: size, nativeFormat: .rgba8)

        let encoder = try Self.manager.makeAnimationEncoder(to: format, of: facts, into: sink)
        for color in [[200, 0, 0, 255], [0, 0, 200, 255]] as [[UInt8]] {
            try encoder.add(try .of(size, .rgba8, color), duration: .milliseconds(100))
        }
        try encoder.finish()

        let animation = try AnimatedImage(ImageSource(sink.bytes), manager: Self.manager)
        #expect(animation.frameCount == 2)
        #expect(animation.loopCount.plays == 1)
    }
}
