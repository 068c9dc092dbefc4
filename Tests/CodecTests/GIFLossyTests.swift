import CoderPluginKit
import GIFCodec
import ImageModel
import Testing

@Suite struct `Lossy GIF` {
    private static let size = PixelSize(96, 64)

    /// A noisy image of at most `colors` colors, which moves.
    private func frames(_ count: Int, colors: Int) -> [[UInt8]] {
        var state: UInt64 = 3
        return (0..<count).map { frame in
            (0..<Self.size.width * Self.size.height).flatMap { place -> [UInt8] in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let (x, y) = (place % Self.size.width + frame, place / Self.size.width)
                let level = (x * 2 + y * 3 + Int(state >> 60)) / 4 % colors
                let gray = level * 255 / max(1, colors - 1)
                return [UInt8(gray), UInt8(255 - gray), UInt8(gray / 2), 255]
            }
        }
    }

    private func encode(_ images: [[UInt8]], _ options: CoderOptions) throws -> [UInt8] {
        try encodeGIF(
            Self.size, .rgba8, GivenFrame.sequence(images, Self.size, each: FrameDuration(4, over: 100)),
            options: options)
    }

    /// The canvas at every given frame; the encoder may merge frames that it draws alike.
    private func shown(_ file: [UInt8]) throws -> [[UInt8]] {
        let frames = try decodeGIF(file).frames
        return zip(composited(frames, Self.size), frames).flatMap { canvas, frame in
            [[UInt8]](repeating: canvas, count: max(1, Int(frame.info.duration.numerator) / 4))
        }
    }

    private func greatestError(_ file: [UInt8], _ images: [[UInt8]]) throws -> Int {
        let seen = try shown(file)
        #expect(seen.count == images.count)
        var greatest = 0
        for (canvas, image) in zip(seen, images) {
            for place in stride(from: 0, to: image.count, by: 4) {
                var error = 0
                for channel in place..<place + 3 {
                    let difference = Int(canvas[channel]) - Int(image[channel])
                    error += difference * difference
                }
                greatest = max(greatest, error)
            }
        }
        return greatest
    }

    @Test(arguments: [1, 6], [20, 80, 200])
    func `is smaller, with a bounded error in every pixel`(count: Int, lossy: Int64) throws {
        let images = frames(count, colors: 40)
        let exact = try encode(images, [:])
        let file = try encode(images, ["gif.lossy": .integer(lossy)])

        #expect(try greatestError(exact, images) == 0)
        #expect(try (1...10 * Int(lossy)).contains(greatestError(file, images)))
        #expect(file.count < exact.count)
        let own = try decodeGIF(file).frames.map(\.pixels)
        #expect(giflibFrames(file)?.map(\.pixels) == own)
    }

    @Test(arguments: [1, 4], [40, 256]) func `of strength 0 is the same file`(count: Int, colors: Int) throws {
        let images = frames(count, colors: colors)
        #expect(try encode(images, ["gif.lossy": .integer(0)]) == encode(images, [:]))
        #expect(try encode(images, ["quality": .real(100)]) == encode(images, [:]))
    }

    @Test func `shrinks with the quality`() throws {
        let images = frames(4, colors: 200)
        let sizes = try [100, 80, 60, 40, 20, 0].map { try encode(images, ["quality": .real($0)]).count }
        #expect(sizes == sizes.sorted(by: >))
        #expect(Set(sizes).count > 3)
    }

    @Test func `prefers its own option to the quality`() throws {
        let images = frames(2, colors: 40)
        #expect(
            try encode(images, ["quality": .real(60), "gif.lossy": .integer(20)])
                == encode(images, ["gif.lossy": .integer(20)]))
    }

    @Test(
        arguments: [["gif.lossy": .integer(201)], ["gif.lossy": .integer(-1)], ["quality": .real(101)]]
            as [CoderOptions])
    func `refuses values out of range`(options: CoderOptions) {
        #expect(throws: CoderError.self) { try GIFEncoder(EncoderSession(options: options)) }
    }

    /// Transparent pixels stay transparent, and opaque ones opaque.
    @Test func `keeps transparency exactly`() throws {
        let images = frames(5, colors: 30).enumerated().map { frame, image in
            image.enumerated().map { place, value in place / 4 % 7 == frame ? 0 : value }
        }
        let file = try encode(images, ["gif.lossy": .integer(200)])
        let seen = try shown(file)
        #expect(seen.count == images.count)
        for (canvas, image) in zip(seen, images) {
            #expect(stride(from: 3, to: image.count, by: 4).allSatisfy { canvas[$0] == image[$0] })
        }
    }
}
