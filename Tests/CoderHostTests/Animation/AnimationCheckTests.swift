import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The generic check of every coder with every file, for animations: V1 … V5, V8 and V9.
@Suite struct `Generic check of animations` {
    /// An animation, and the results of other decoders.
    struct Known: Sendable, CustomTestStringConvertible {
        var name: String
        var format: ImageFormat
        var size: PixelSize
        var loopCount: LoopCount
        /// Milliseconds of each frame, or the same value for all of them.
        var milliseconds: [Double]
        var frameCount: Int
        /// The first twelve digits of ``PixelDigest`` of the first frames.
        var digests: [String]
        var testDescription: String { name }
    }

    /// Sources of the digests: Pillow 13 for GIF and WebP, or dwebp where Pillow turns a transparent canvas black; for
    /// APNG ffmpeg 5.1, or the recipe where frames blend. Frames on which decoders differ by 1 have no digest.
    static let known = [
        Known(
            name: "images/three-frames.gif", format: "gif", size: PixelSize(31, 17), loopCount: .plays(3),
            milliseconds: [100, 200, 100], frameCount: 3, digests: ["ddeadc5ac333", "2b1fb8e018e2", "11da4648cea3"]),
        Known(
            name: "images/three-frames.webp", format: "webp", size: PixelSize(31, 17), loopCount: .infinite,
            milliseconds: [100, 200, 100], frameCount: 3, digests: ["bfc96a496453", "18e24f8466f6", "8292d6a91495"]),
        Known(
            name: "webp/animated.webp", format: "webp", size: PixelSize(60, 40), loopCount: .plays(3),
            milliseconds: [100, 200], frameCount: 2, digests: ["6f94ce22b235", "da61258091fd"]),
        Known(
            name: "awebp/every-kind-of-frame.webp", format: "webp", size: PixelSize(60, 40), loopCount: .plays(3),
            milliseconds: [100, 33, 0, 16_777_215, 1], frameCount: 5,
            digests: ["b256c6b55fdf", "", "3def769bb01b", "bc24247f81ce", "5dff27d60573"]),
        Known(
            name: "conformance/first-frame-off-origin.webp", format: "webp", size: PixelSize(41, 23),
            loopCount: .infinite, milliseconds: [100], frameCount: 2, digests: ["88f0b4b7159e", "518c81963aa1"]),
        Known(
            name: "apng/three-frames.png", format: "apng", size: PixelSize(24, 16), loopCount: .infinite,
            milliseconds: [40, 30, 50], frameCount: 3, digests: ["06651965b7b7", "273048f4010b", "0115fdfd2ec8"]),
        Known(
            name: "apng/hidden-default-image.png", format: "apng", size: PixelSize(24, 16), loopCount: .plays(7),
            milliseconds: [100], frameCount: 2, digests: ["639b4078e54b"]),
        Known(
            name: "apng/interlaced-palette-with-transparency.png", format: "apng", size: PixelSize(24, 16),
            loopCount: .plays(1), milliseconds: [100], frameCount: 2, digests: ["5158a986fe83"]),
        // The recipe's durations: 1, 3, 2, 1, 1, 5 in 1/24 s.
        Known(
            name: "avif/sequence-alpha-3-plays.avif", format: "avif", size: PixelSize(24, 16), loopCount: .plays(3),
            milliseconds: [1, 3, 2, 1, 1, 5].map { $0 * 1000 / 24 }, frameCount: 6, digests: []),
    ]

    /// Images of SDWebImage, and the rows of the shared list of results.
    static let foreign = [
        Known(
            name: "TestImage.gif", format: "gif", size: PixelSize(50, 50), loopCount: .infinite, milliseconds: [120],
            frameCount: 5,
            digests: ["87d788677b16", "999f11dd1c55", "986b25067804", "86eddeb4e424", "2ca7f6291720"]),
        Known(
            name: "TestLoopCount.gif", format: "gif", size: PixelSize(72, 48), loopCount: .plays(1),
            milliseconds: [500], frameCount: 2, digests: ["5319b14c393b", "9da91ed9c3cb"]),
        // The file stores 65535 repetitions, so it plays once more.
        Known(
            name: "1@2x.gif", format: "gif", size: PixelSize(400, 400), loopCount: .plays(65536), milliseconds: [90],
            frameCount: 44, digests: ["dcec40c29a3e"]),
        Known(
            name: "TestImageAnimated.apng", format: "apng", size: PixelSize(320, 240), loopCount: .infinite,
            milliseconds: [30], frameCount: 101, digests: ["7cf65fda6b61", "aa86c4072afb", "af7832bd2708"]),
        // Partly transparent frames are blended: decoders differ by 2 from the second frame on.
        Known(
            name: "TestImageLarge.png", format: "apng", size: PixelSize(1275, 720), loopCount: .infinite,
            milliseconds: [100], frameCount: 4, digests: ["91f539731c11"]),
        Known(
            name: "TestImageAnimated.webp", format: "webp", size: PixelSize(990, 1050), loopCount: .infinite,
            milliseconds: [100], frameCount: 8, digests: ["5dd4c7741355"]),
        Known(
            name: "TestAnimatedImageMemory.webp", format: "webp", size: PixelSize(600, 600), loopCount: .infinite,
            milliseconds: [333, 334, 333, 333, 334, 333, 333, 334, 333, 333, 334, 333, 333, 334, 333, 333],
            frameCount: 16, digests: ["489bd8f13a0d"]),
    ]

    private func check(_ known: Known, _ bytes: [UInt8]) throws {
        // V1, V2, V3
        #expect(Bench.manager.candidates(for: ImageSource(bytes)).first?.format == known.format)
        let image = try Bench.open(bytes)
        #expect(image.format == known.format)
        // V4, V5
        #expect(image.isAnimated && image.isComplete && image.problem == nil)
        #expect(image.size == known.size)
        #expect(image.frameCount == known.frameCount)
        #expect(image.info.frameCount == known.frameCount)
        #expect(image.loopCount == known.loopCount)
        let frames = min(known.frameCount, max(known.digests.count, 6))
        for index in 0..<known.frameCount {
            let wanted = known.milliseconds[index % known.milliseconds.count]
            #expect(abs(try image.duration(at: index).milliseconds - wanted) < 0.001, "frame \(index)")
            if index >= frames { continue }
            let pixels = try image.frame(at: index).pixels
            #expect(pixels.size == known.size, "frame \(index)")
            if index < known.digests.count, !known.digests[index].isEmpty {
                #expect(try PixelHash.hex(pixels).prefix(12) == known.digests[index], "frame \(index)")
            }
        }
        // V8
        #expect(Bench.manager.canEncode(to: known.format))
        #expect(!Bench.manager.animationEncoders(for: known.format).isEmpty)
    }

    @Test(arguments: known) func `V1 V2 V3 V4 V5 V8 hold for every frame`(known: Known) throws {
        try check(known, Fixture.named(known.name).bytes)
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"), arguments: foreign)
    func `C-11 C-12a C-12b C-19 foreign animations pass the check`(known: Known) throws {
        try check(known, try #require(ForeignImage(known.name).bytes))
    }

    @Test func `V3 the number of plays does not change the frames of a sequence`() throws {
        let endless = try Motion(Bench.open(Fixture.named("avif/sequence-alpha.avif").bytes))
        var three = try Motion(Bench.open(Fixture.named("avif/sequence-alpha-3-plays.avif").bytes))
        #expect(three.loopCount == .plays(3) && endless.loopCount != .plays(3))
        three.loopCount = endless.loopCount

        #expect(three == endless)
    }

    static let loops: [LoopCount] = [.infinite, .plays(1), .plays(2), .plays(1000)]

    @Test(arguments: AnimatedTarget.all, loops)
    func `V9 an animation is the same after writing and reading`(
        target: AnimatedTarget, loopCount: LoopCount
    ) throws {
        for hasAlpha in [false, true] {
            let motion = Motion.blocks(
                24, 16, frames: 7, hasAlpha: hasAlpha, loopCount: loopCount,
                durations: [.milliseconds(100), .milliseconds(30), .milliseconds(1000)])

            let (bytes, warnings) = try Bench.encode(motion, to: target)
            let image = try Bench.open(bytes)

            #expect(image.format == target.format)
            #expect(warnings.isEmpty)
            #expect(try Motion(image) == motion, "alpha \(hasAlpha)")
        }
    }

    /// APNG and AVIF store fractions; WebP milliseconds, GIF 1/100 s.
    @Test(arguments: AnimatedTarget.all)
    func `V9 rounding of durations causes no drift and no warning`(
        target: AnimatedTarget
    ) throws {
        let motion = Motion.blocks(16, 12, frames: 30, durations: [FrameDuration(1, over: 30)])

        let (bytes, warnings) = try Bench.encode(motion, to: target)
        let again = try Motion(Bench.open(bytes))

        #expect(again.images == motion.images)
        let isExact = ["apng", "avif"].contains(target.format.id)
        #expect(warnings.isEmpty == isExact, "\(warnings)")
        #expect(zip(again.durations, motion.durations).allSatisfy(Motion.isSame) == isExact)
        let step = target.format == "gif" ? 10.0 : 1
        var total = 0.0
        for (index, duration) in again.durations.enumerated() {
            total += duration.milliseconds
            #expect(abs(total - Double(index + 1) * 1000 / 30) <= step, "after frame \(index)")
        }
    }

    @Test(arguments: AnimatedTarget.all)
    func `V9 every animated fixture keeps its frames and durations in another format`(
        target: AnimatedTarget
    ) throws {
        // GIF has at most 256 colors.
        let names = ["images/three-frames.gif", "images/three-frames.webp", "apng/three-frames.png"]
        for name in target.format == "gif" ? [names[0]] : names {
            let motion = try Motion(Bench.open(Fixture.named(name).bytes))

            let again = try Motion(Bench.open(Bench.encode(motion, to: target).bytes))

            #expect(again == motion, "\(name)")
        }
    }
}
