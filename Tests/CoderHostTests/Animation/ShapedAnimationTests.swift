import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Animations whose frames are reduced or transformed during decoding.
@Suite struct `Shaped animation` {
    static let animations = ["images/three-frames.gif", "images/three-frames.webp", "apng/three-frames.png"]

    private func open(
        _ name: String, _ options: DecodeOptions = DecodeOptions(), _ transformer: (any ImageTransformer)? = nil
    ) throws -> AnimatedImage {
        try AnimatedImage(
            Bench.source(Fixture.named(name)), manager: Bench.manager, options, transformer: transformer)
    }

    @Test(arguments: animations)
    func `has the resampled frames of the full size`(name: String) throws {
        let full = try open(name)
        let small = try open(name, .thumbnail(PixelSize(9, 9)))

        #expect(small.size == full.size.scaled(to: PixelSize(9, 9)))
        #expect(small.frameCount == full.frameCount)
        for index in [2, 0, 1] {
            let expected = try Resampler.resample(BufferRows(full.frame(at: index).pixels), to: small.size)
            #expect(try small.frame(at: index).pixels.packed == expected.packed)
            #expect(try small.duration(at: index) == full.duration(at: index))
            #expect(try small.image(at: index).info.size == small.size)
        }
    }

    static let boxes: [(box: PixelSize, fit: Fit, result: PixelSize)] = [
        (PixelSize(8, 4), .cover, PixelSize(8, 4)), (PixelSize(9, 20), .contain, PixelSize(9, 20)),
        (PixelSize(0, 5), .inside, PixelSize(0, 5)),
    ]

    @Test(arguments: animations, boxes)
    func `has the same pixels as the same frame as a still, for every option`(
        name: String, box: (box: PixelSize, fit: Fit, result: PixelSize)
    ) throws {
        var options = DecodeOptions.thumbnail(PixelSize(8, 8))
        options.size = .box(box.box, box.fit)
        options.cropPosition = .entropy
        options.region = PixelRect(x: 3, y: 2, width: 11, height: 9)
        options.colors = .sRGB
        let animation = try open(name, options)
        let session = try Bench.manager.openSession(Bench.source(Fixture.named(name)))

        #expect(box.result.width == 0 || animation.size == box.result)
        // The first frame decides the crop, also if another is decoded first.
        let last = try animation.frame(at: 2).pixels
        for index in 0..<animation.frameCount {
            let still = try session.decodeFrame(index, options)
            #expect(still.pixels.size == animation.size)
            #expect(try animation.frame(at: index).pixels.packed == still.pixels.packed)
            if index == 2 { #expect(last.packed == still.pixels.packed) }
        }
        let first = try Bench.manager.decode(Bench.source(Fixture.named(name)), options)
        #expect(try PixelConverter.convert(first.pixels, to: .rgba8).packed == animation.frame(at: 0).pixels.packed)
    }

    @Test(arguments: animations)
    func `has a warning if a region exceeds it, as a still does`(name: String) throws {
        var options = DecodeOptions()
        options.region = PixelRect(x: 3, y: 2, width: 4000, height: 9)
        let still = try Bench.manager.decode(Bench.source(Fixture.named(name)), options)

        let animation = try open(name, options)

        #expect(animation.warnings.contains { $0.hasPrefix("the region 4000x9+3+2 exceeds the image of ") })
        #expect(animation.warnings == still.warnings)
    }

    @Test func `does not enlarge an animation beyond the limits`() throws {
        var options = DecodeOptions()
        options.size = .box(PixelSize(40_000, 40_000), .contain)

        let error = #expect(throws: CoderError.self) { try open("images/three-frames.gif", options) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `does not crop an image where another one of the session was cropped`() throws {
        let session = try Bench.manager.openSession(Bench.source(Fixture.named("images/f.png")))
        for side in [4, 2, 4] {
            let image = try session.decodeImage(.thumbnail(PixelSize(side, 2), .cover))
            #expect(image.pixels.size == PixelSize(side, 2))
            let frame = try session.decodeFrame(0, .thumbnail(PixelSize(side, 2), .cover))
            #expect(frame.pixels.packed == image.pixels.packed)
        }
    }

    @Test(arguments: animations, [1, 300, 1 << 20])
    func `divides a byte budget among its frames`(name: String, limit: Int) throws {
        let full = try open(name)
        let small = try open(name, .limited(toBytes: limit))

        let bytes = small.frameCount * small.bytesPerFrame
        #expect(bytes <= limit || small.size == PixelSize(1, 1))
        if full.frameCount * full.bytesPerFrame <= limit { #expect(small.size == full.size) }
        #expect(try small.frame(at: 0).pixels.size == small.size)
    }

    @Test(arguments: animations)
    func `A-38 a transformer changes every frame, and the player shows it`(name: String) throws {
        let plain = try open(name)
        let flipping = Flipping(horizontal: true)
        let changed = try open(name, DecodeOptions(), flipping)

        for index in 0..<plain.frameCount {
            let expected = try flipping.transform(plain.frame(at: index).pixels)
            #expect(try changed.frame(at: index).pixels.packed == expected.packed)
        }
        let pipeline = try open(
            name, .thumbnail(PixelSize(12, 12)), Pipeline(Cropping(PixelRect(x: 0, y: 0, width: 5, height: 4))))
        #expect(pipeline.size == PixelSize(5, 4))
        #expect(try pipeline.frame(at: 1).pixels.size == PixelSize(5, 4))
    }

    @Test(arguments: animations)
    func `is smaller after writing, with the same durations`(name: String) throws {
        let small = try open(name, .thumbnail(PixelSize(10, 10)))
        let sink = MemorySink()
        var facts = small.info
        facts.size = small.size
        let encoder = try Bench.manager.makeAnimationEncoder(to: "apng", of: facts, into: sink)
        for index in 0..<small.frameCount {
            try encoder.add(small.frame(at: index).pixels, duration: small.duration(at: index))
        }
        try encoder.finish()

        let again = try AnimatedImage(ImageSource(sink.bytes), manager: Bench.manager)
        #expect(again.size == small.size)
        #expect(try (0..<3).map { try again.duration(at: $0) } == (0..<3).map { try small.duration(at: $0) })
    }

    @Test(arguments: animations, ["gif", "apng", "webp"] as [ImageFormat])
    func `is written by one call, of any size`(name: String, format: ImageFormat) throws {
        let animation = try open(name)
        var options = EncodeOptions()
        options.maxPixelSize = PixelSize(10, 10)
        let sink = MemorySink()

        try Bench.manager.encode(animation, to: format, options, into: sink)

        let again = try AnimatedImage(ImageSource(sink.bytes), manager: Bench.manager)
        #expect(again.size == animation.size.scaled(to: PixelSize(10, 10)))
        #expect(again.frameCount == animation.frameCount)
        #expect(again.loopCount == animation.loopCount)
    }

    @Test(arguments: animations)
    func `is reduced to its first frame if requested, or if the format requires it`(name: String) throws {
        var first = DecodeOptions()
        first.firstFrameOnly = true
        let still = try open(name, first)
        #expect(still.frameCount == 1 && still.isComplete && !still.isAnimated)

        var options = EncodeOptions()
        options.firstFrameOnly = true
        for (format, options) in [("webp", options), ("jpeg", EncodeOptions())] as [(ImageFormat, EncodeOptions)] {
            let sink = MemorySink()
            try Bench.manager.encode(try open(name), to: format, options, into: sink)
            let again = try AnimatedImage(ImageSource(sink.bytes), manager: Bench.manager)
            #expect(again.frameCount == 1)
            #expect(again.size == still.size)
        }
    }

    @Test func `above the file size limit is an error, and nothing is written`() throws {
        var options = EncodeOptions()
        options.maxFileSize = 100
        let sink = MemorySink()

        let error = #expect(throws: CoderError.self) {
            try Bench.manager.encode(open(Self.animations[0]), to: "webp", options, into: sink)
        }
        #expect(error?.code == .limitExceeded)
        #expect(sink.bytes.isEmpty)
    }

    @Test func `in standard range has eight bits and declares sRGB`() throws {
        var options = DecodeOptions()
        options.colors = .standardRange
        let image = try AnimatedImage(
            Bench.source(Fixture.named("images/icc-wide.png")), manager: Bench.manager, options)

        let still = try image.image(at: 0)
        #expect(still.pixels.format.bits == 8)
        #expect(still.blob(.icc) == nil)
        #expect(still.info.color.codePoints == .sRGB)
    }
}
