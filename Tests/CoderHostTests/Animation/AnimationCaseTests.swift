import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The cases C-* and A-* for animations; see Conformance.md.
@Suite struct `Animation cases` {
    /// Five infinitely repeated frames of 50 × 50 and 120 ms, as in the reference's GIF.
    static let five = Motion.blocks(50, 50, frames: 5, durations: [.milliseconds(120)])

    static func five(_ format: ImageFormat = "gif") throws -> [UInt8] {
        try Bench.encode(five, to: AnimatedTarget.all.first { $0.format == format }!).bytes
    }

    static let isThere = ForeignImage.areThere

    // MARK: C, coders

    /// Opening must not decode any frame.
    @Test func `C-10 opening decodes nothing, and a frame decodes that frame`() throws {
        let (image, coder) = try numbered(4)
        #expect(coder.decoded.isEmpty)

        let frame = try image.frame(at: 0)

        #expect(coder.decoded == [0])
        #expect(frame.pixels.size == PixelSize(1, 1))
        try image.preloadAllFrames()
        #expect(coder.decoded == [0, 1, 2, 3])
    }

    @Test(arguments: AnimatedTarget.all)
    func `C-10 the first frame needs no other frame`(target: AnimatedTarget) throws {
        let whole = try Self.five(target.format)
        let image = try Bench.decode(whole)

        #expect(try Motion.rgba(image.pixels) == Self.five.images[0])
        #expect(image.info.frameCount == 5)
    }

    @Test(arguments: ["apng", "gif", "webp"])
    func `C-11 C-12a C-18 C-19 generic, encoding, animated`(id: String) throws {
        let format = ImageFormat(id)
        let image = try Bench.open(Self.five(format))
        #expect(image.isAnimated && image.format == format)

        let again = try Bench.encode(Motion(image), to: AnimatedTarget.all.first { $0.format == format }!)

        #expect(try Motion(Bench.open(again.bytes)) == Self.five)
    }

    @Test(.enabled(if: isThere, "the corpus is not there"))
    func `C-16 an animated HEICS decodes to its still item, which is written as HEIC`() throws {
        let image = try Bench.open(try #require(ForeignImage("TestImageAnimated.heics").bytes))

        #expect(image.size == PixelSize(256, 144))
        #expect(image.frameCount == 1)
        #expect(Bench.manager.canEncode(to: "heic"))
        let again = try Bench.passThrough(
            DecodedImage(info: image.info, pixels: image.frame(at: 0).pixels, format: image.format, coder: image.coder),
            "heic", options: ["effort": .integer(0)])
        #expect(again.pixels.size == PixelSize(256, 144))
    }

    @Test(arguments: AnimatedTarget.all)
    func `C-27 five frames of a tenth of a second, as a list of images and as frames`(target: AnimatedTarget) throws {
        let motion = Motion.blocks(100, 100, frames: 5)
        let images = try motion.images.indices.map { try motion.buffer($0) }

        let frames = FrameRepetition.frames(of: images, milliseconds: 500)
        var listed = motion
        listed.durations = frames.map(\.duration)
        let old = try Bench.encode(listed, to: target).bytes
        let new = try Bench.encode(motion, to: target).bytes

        #expect(frames.count == 5)
        #expect(try Motion(Bench.open(old)) == motion)
        #expect(try Motion(Bench.open(new)) == motion)
    }

    // MARK: A-01 … A-05, opening

    @Test func `A-01 text is not an animation, but a GIF is`() throws {
        #expect(Bench.code { _ = try Bench.open(Array("invalid data".utf8)) } == .unrecognizedFormat)

        let image = try Bench.open(Self.five())

        #expect(image.format == "gif")
        #expect(image.loopCount == .infinite)
        #expect(image.frameCount == 5)
        #expect(try image.frame(at: 1).pixels.size == PixelSize(50, 50))
    }

    /// The host has no display scale, only pixels.
    @Test func `A-02 A-04 the bytes decide the format, not the file name`() throws {
        let folder = TemporaryDirectory()
        let bytes = try Self.five()
        for name in ["1.gif", "1@2x.gif", "1"] {
            let source = try ImageSource(path: folder.write(bytes, to: name))
            let image = try AnimatedImage(source, manager: Bench.manager)
            #expect(try Motion(image) == Self.five)
            #expect(source.bytes(0..<source.count) == bytes)
        }
    }

    @Test func `A-03 the caller can select a coder`() throws {
        let source = ImageSource(try Self.five())
        let session = try Bench.manager.openSession(source, forcing: "org.coderhost.gif")

        #expect(session.coder.id == "org.coderhost.gif")
        #expect(try session.frames().count == 5)
        #expect(
            Bench.code { _ = try Bench.manager.openSession(source, forcing: "org.coderhost.png") }
                == .unrecognizedFormat)
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-05 preloading keeps all frames, unloading removes them`(target: AnimatedTarget) throws {
        let image = try Bench.open(Self.five(target.format))

        try image.preloadAllFrames()
        #expect(image.areAllFramesLoaded && image.pool.count == 5)
        #expect(image.pool.byteCount == 5 * 50 * 50 * 4)
        #expect(try image.frame(at: 3).pixels === image.frame(at: 3).pixels)
        image.unloadAllFrames()

        #expect(!image.areAllFramesLoaded && image.pool.count == 0)
    }

    // MARK: A-20 … A-30, playing

    /// Plays for a time with an update every 10 ms, and returns the displayed indices.
    private func play(
        _ player: AnimatedImagePlayer, _ clock: TestClock, milliseconds: Int
    ) throws -> [Int] {
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        for _ in 0..<milliseconds / 10 {
            try player.update()
            clock.pass(milliseconds: 10)
        }
        try player.update()
        return seen
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-20 all five frames are displayed, and a play is counted`(target: AnimatedTarget) throws {
        let clock = TestClock()
        let player = AnimatedImagePlayer(try Bench.open(Self.five(target.format)), clock: clock)
        var loops: [Int] = []
        player.onLoop = { loops.append($0) }
        player.start()

        let seen = try play(player, clock, milliseconds: 1000)

        // At 120 ms each, the ninth frame begins at 960 ms, the second play at 600 ms.
        #expect(seen == [0, 1, 2, 3, 4, 0, 1, 2, 3])
        #expect(loops == [1])
        #expect(player.currentLoop == 1)
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-21 it is incomplete until the last byte`(target: AnimatedTarget) throws {
        let bytes = try Self.five(target.format)
        let progressive = try ProgressiveImage(manager: Bench.manager)

        // After the start of IEND, which has twelve bytes, a PNG has no further frame.
        let last = target.format == "apng" ? 12 : 1
        try progressive.append(Array(bytes.dropLast(last)))
        try progressive.update { _ in }
        let image = try #require(progressive.image)
        #expect(!image.isComplete && image.problem == nil)
        try progressive.append(bytes.suffix(last))
        progressive.finish()
        try progressive.update { _ in }

        #expect(image.isComplete && image.problem == nil)
        #expect(image.frameCount == 5)
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-25 playback follows the clock, and A-26 its frames stay until they are released`(target: AnimatedTarget)
        throws
    {
        // Two seconds, as in the reference's APNG.
        let motion = Motion.blocks(20, 16, frames: 20)
        let image = try Bench.open(Bench.encode(motion, to: target).bytes)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        player.start()

        _ = try play(player, clock, milliseconds: 500)
        #expect(player.currentIndex == 5)
        _ = try play(player, clock, milliseconds: 500)
        #expect(player.currentIndex == 10)
        player.stop()

        // Frames 0 to 10 were displayed; the pool keeps those that the player would need again.
        let kept = (0..<20).filter { image.pool.frame(at: $0) != nil }
        #expect(kept.count == image.pool.count && image.pool.byteCount == kept.count * 20 * 16 * 4)
        #expect(!kept.isEmpty && kept.allSatisfy { $0 <= 10 }, "\(kept)")
        image.unloadAllFrames()
        #expect(image.pool.count == 0 && image.pool.byteCount == 0)
        for index in kept { #expect(try Motion.rgba(image.frame(at: index).pixels) == motion.images[index]) }
    }

    @Test(.enabled(if: isThere, "the corpus is not there"))
    func `A-25 A-26 the foreign APNG is at frame 16 after half a second`() throws {
        let image = try Bench.open(try #require(ForeignImage("TestImageAnimated.apng").bytes))
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        player.start()
        _ = try play(player, clock, milliseconds: 500)

        #expect(player.currentIndex == 16)
        player.stop()
        let pixels = try image.frame(at: 16).pixels
        image.unloadAllFrames()
        #expect(image.pool.count == 0)
        #expect(try image.frame(at: 16).pixels.packed == pixels.packed)
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-27 playback of an image that arrives in thirds never goes backwards`(
        target: AnimatedTarget
    ) throws {
        let motion = Motion.blocks(32, 24, frames: 20, loopCount: .plays(1))
        let bytes = try Bench.encode(motion, to: target).bytes
        let progressive = try ProgressiveImage(manager: Bench.manager)
        let clock = TestClock()
        var player: AnimatedImagePlayer?
        var seen: [Int] = []
        var counts: [Int] = []

        // One third each at 0 s, 2 s and 4 s; the animation lasts 2 s.
        for third in 0..<3 {
            try progressive.append(Array(bytes[bytes.count * third / 3..<bytes.count * (third + 1) / 3]))
            if third == 2 { progressive.finish() }
            try progressive.update { _ in }
            guard let image = progressive.image else { continue }
            counts.append(image.frameCount)
            #expect(image.isComplete == (third == 2))
            if player == nil {
                player = AnimatedImagePlayer(image, clock: clock)
                player?.start()
            }
            if let player { seen += try play(player, clock, milliseconds: third == 2 ? 1900 : 2000) }
        }

        #expect(counts == counts.sorted() && counts.last == 20)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(seen)")
        // An AVIF stores images in track order, so the first two thirds may lack one.
        #expect(counts.count == 3 && counts[1] > 1 && counts[1] < 20, "\(counts)")
        #expect(seen.last == 19)
        if let image = progressive.image { #expect(try Motion(image) == motion) }
    }

    @Test func `A-28 an image does not play before it is started`() throws {
        let clock = TestClock()
        let player = AnimatedImagePlayer(try Bench.open(Self.five()), clock: clock)

        #expect(try play(player, clock, milliseconds: 1000) == [0])
        #expect(!player.isPlaying)
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-29 a player can seek to every frame`(target: AnimatedTarget) throws {
        let player = AnimatedImagePlayer(try Bench.open(Self.five(target.format)), clock: TestClock())

        for index in [0, 1, 2, 3, 4, 2, 0, 4, 1, 3] {
            try player.seek(to: index)
            #expect(player.currentIndex == index)
            let frame = try #require(player.currentFrame)
            #expect(try Motion.rgba(frame.pixels) == Self.five.images[index])
        }
    }

    @Test func `A-30 an added coder precedes all others`() throws {
        let host = CoderHost(
            configuration: HostConfiguration(
                directories: [.init(Repository.products, origin: .argument)], administrationDirectories: [],
                followsChanges: false))
        let source = ImageSource(try Self.five())
        let mine = ScriptedCoder("mine", signature: Array("GIF8".utf8), priority: 1)

        host.manager.addCoder(mine)
        #expect(try AnimatedImage(source, manager: host.manager).coder == "mine")
        host.manager.removeCoder("mine")

        #expect(try AnimatedImage(source, manager: host.manager).coder == "org.coderhost.gif")
    }

    // MARK: A-33 … A-37

    static let orders: [(PlaybackMode, [Int])] = [
        (.reverse, [4, 3, 2, 1, 0, 4]), (.bounce, [0, 1, 2, 3, 4, 3, 2, 1, 0, 1]),
        (.reversedBounce, [4, 3, 2, 1, 0, 1, 2, 3, 4, 3]),
    ]

    @Test(arguments: orders, AnimatedTarget.all)
    func `A-33 A-34 A-35 the mode determines the order of frames`(
        order: (PlaybackMode, [Int]), target: AnimatedTarget
    ) throws {
        let clock = TestClock()
        let player = AnimatedImagePlayer(try Bench.open(Self.five(target.format)), mode: order.0, clock: clock)
        player.start()
        var images: [[UInt8]] = []
        player.onFrame = { _ in }

        for _ in order.1 {
            try player.update()
            if let frame = player.currentFrame { images.append(try Motion.rgba(frame.pixels)) }
            clock.pass(milliseconds: 120)
        }

        #expect(images == order.1.map { Self.five.images[$0] })
    }

    @Test(.enabled(if: isThere, "the corpus is not there"))
    func `A-36 the foreign memory test has 16 frames, 5333 entries and the cost of its pixels`() throws {
        let image = try Bench.open(try #require(ForeignImage("TestAnimatedImageMemory.webp").bytes))
        try image.preloadAllFrames()

        let durations = try (0..<image.frameCount).map { try image.duration(at: $0) }
        #expect(image.frameCount == 16)
        #expect(image.size == PixelSize(600, 600))
        #expect(FrameRepetition.counts(durations).counts.reduce(0, +) == 5333)
        #expect(image.pool.byteCount == 16 * 600 * 600 * 4)
        let list = FrameRepetition.images(of: try (0..<16).map { try image.frame(at: $0) })
        #expect(list.images.count == 5333)
        // The list repeats the same images without copies.
        #expect(Set(list.images.map(ObjectIdentifier.init)).count == 16)
    }

    @Test(arguments: AnimatedTarget.all)
    func `A-36 a list of images converts back to the same frames`(target: AnimatedTarget) throws {
        let motion = Motion.blocks(
            16, 16, frames: 3, durations: [.milliseconds(330), .milliseconds(340), .milliseconds(330)])
        let image = try Bench.open(Bench.encode(motion, to: target).bytes)
        let frames = try (0..<3).map { try image.frame(at: $0) }

        let (images, milliseconds) = FrameRepetition.images(of: frames)

        #expect(milliseconds == 1000)
        #expect(images.count == 100)
        #expect(
            FrameRepetition.frames(of: images, milliseconds: milliseconds).map(\.duration.milliseconds) == [
                330, 340, 330,
            ])
    }

    @Test func `A-37 a JPEG has one frame and is not animated`() throws {
        let image = try Bench.open(Fixture.named("images/f.jpg").bytes)

        #expect(!image.isAnimated)
        #expect(image.format == "jpeg")
        #expect(image.frameCount == 1)
        #expect(image.loopCount == .unknown)
        #expect(try PixelHash.hex(image.frame(at: 0).pixels) == Fixture.named("images/f.jpg").expect?.pixelSHA256)
        // The frames share no mutable buffer.
        #expect(try image.frame(at: 0).pixels !== image.frame(at: 0).pixels)
    }
}
