import CoderHost
import ImageModel
import ImageProcessing
import LoadingTestSupport
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `The pace of previews` {
    private static let ms: UInt64 = 1_000_000

    @Test func `allows one preview at once, then one per interval`() {
        var pace = PreviewPace(.paced())
        #expect(pace.begin(5 * Self.ms) == .now)
        #expect(pace.begin(6 * Self.ms) == .never)
        pace.end(10 * Self.ms, hasImage: true)
        #expect(pace.begin(100 * Self.ms) == .later(205 * Self.ms))
        #expect(pace.begin(305 * Self.ms) == .now)
    }

    @Test func `pauses for twice the time of a decode, with every policy`() {
        for policy in [PreviewPolicy.paced(), .everyScan] {
            var pace = PreviewPace(policy)
            #expect(pace.begin(0) == .now)
            pace.end(400 * Self.ms, hasImage: true)
            #expect(pace.begin(1199 * Self.ms) == .later(Self.ms))
            #expect(pace.begin(1200 * Self.ms) == .now)
        }
    }

    @Test func `looks again soon if there was nothing new`() {
        var paced = PreviewPace(.paced())
        #expect(paced.begin(0) == .now)
        paced.end(0, hasImage: false)
        #expect(paced.begin(19 * Self.ms) == .later(Self.ms))
        #expect(paced.begin(20 * Self.ms) == .now)
        var every = PreviewPace(.everyScan)
        #expect(every.begin(0) == .now)
        every.end(0, hasImage: false)
        #expect(every.begin(0) == .now)
    }

    @Test func `ends, and survives durations of any length`() {
        var pace = PreviewPace(.paced(every: .seconds(Int64.max)))
        #expect(pace.begin(1) == .now)
        pace.end(2, hasImage: true)
        #expect(pace.begin(3) == .later(.max - 3))
        pace.stop()
        #expect(pace.begin(.max) == .never)
        var negative = PreviewPace(.paced(every: .seconds(-1)))
        #expect(negative.begin(1) == .now)
        negative.end(1, hasImage: true)
        #expect(negative.begin(1) == .now)
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Previews` {
    private let clock = StillClock()

    /// Appends pieces of a file, and asks for a preview after each.
    private func feed(
        _ bytes: [UInt8], piece: Int = 1, milliseconds: Int = 0, _ options: LoadOptions,
        _ body: (LoadedImage, Int) throws -> Void
    ) throws -> ProgressiveDecoding {
        let source = try ImageSource(growingTo: bytes.count, name: "a", origin: .memory)
        let decoding = ProgressiveDecoding(source, builtHost().manager, options, clock.previews)
        for start in stride(from: 0, to: bytes.count, by: piece) {
            try source.append(Array(bytes[start..<min(bytes.count, start + piece)]))
            if decoding.turn(bytes.count) == .now, let image = decoding.look() { try body(image, source.count) }
            clock.pass(milliseconds: milliseconds)
        }
        source.finish()
        return decoding
    }

    private func options(_ policy: PreviewPolicy, _ change: (inout LoadOptions) -> Void = { _ in }) -> LoadOptions {
        var options = LoadOptions()
        options.previewPolicy = policy
        change(&options)
        return options
    }

    static let animations = ["images/three-frames.gif", "images/three-frames.webp", "apng/three-frames.png"]

    @Test(arguments: animations, [DecodedColors.stored, .sRGB])
    func `of an animation show its first frame as it arrives, then each frame`(
        name: String, colors: DecodedColors
    ) throws {
        let bytes = Fixture.named(name).bytes
        let options = options(.everyScan) { $0.decode.colors = colors }
        let whole = try AnimatedImage(ImageSource(bytes), manager: builtHost().manager, options.decode)
        var counts: [Int] = []
        var animation: AnimatedImage?

        let decoding = try feed(bytes, options) { image, _ in
            #expect(image.size == whole.size)
            guard let growing = image.animation else {
                #expect(image.isPartial && counts.isEmpty)
                return
            }
            #expect(animation == nil || animation === growing)
            animation = growing
            let count = growing.frameCount
            counts.append(count)
            let frame = try growing.frame(at: count - 1).pixels
            #expect(try PixelDigest.of(frame) == PixelDigest.of(whole.frame(at: count - 1).pixels))
            #expect(try growing.image(at: 0).format == whole.format)
        }

        #expect(counts == [1, 2, 3])
        let end = decoding.finish()
        // Converted colors may need a profile behind the frames, so the image is decoded again.
        if colors == .stored { #expect(end?.animation === animation) } else { #expect(end == nil) }
    }

    @Test func `of a GIF without a loop count become an animation with the second frame`() throws {
        let bytes = Fixture.named("images/three-frames.gif").bytes
        let start = try #require((0..<bytes.count - 3).first { bytes[$0] == 0x21 && bytes[$0 + 1] == 0xFF })
        let end = try #require((start + 14..<bytes.count).first { bytes[$0] == 0 && $0 > start + 16 })
        let plain = Array(bytes[..<start]) + Array(bytes[(end + 1)...])
        var counts: [Int] = []

        _ = try feed(plain, options(.everyScan)) { image, _ in
            if let animation = image.animation { counts.append(animation.frameCount) }
        }

        #expect(counts == [2, 3])
    }

    @Test(arguments: animations)
    func `of one frame stay stills if the caller wants one`(name: String) throws {
        var kinds: Set<Bool> = []
        _ = try feed(Fixture.named(name).bytes, options(.everyScan) { $0.kind = .still }) { image, _ in
            kinds.insert(image.isAnimated)
        }
        #expect(kinds == [false])
    }

    @Test func `of a progressive JPEG are its scans, or a few of them`() throws {
        let bytes = Fixture.named("jpeg/progressive-422.jpg").bytes
        let scans = bytes.indices.dropLast().filter { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA }.count
        var (every, slow, fast) = (0, 0, 0)

        _ = try feed(bytes, options(.everyScan)) { _, _ in every += 1 }
        // All bytes within one interval.
        _ = try feed(bytes, piece: bytes.count / 25, milliseconds: 8, options(.paced())) { _, _ in fast += 1 }
        // An interval is shorter than a tenth of the download.
        _ = try feed(bytes, piece: max(1, bytes.count / 30), milliseconds: 150, options(.paced())) { _, _ in slow += 1 }

        #expect(scans > 5 && every == scans)
        #expect(fast == 1)
        #expect(slow > fast && slow <= every)
    }

    @Test func `begin with the embedded thumbnail, before any row of the image`() throws {
        let manager = builtHost().manager
        var large = DecodeOptions()
        large.size = .box(PixelSize(640, 480), .inside, enlarging: true)
        let image = try manager.decode(ImageSource(Fixture.named("images/photo.jpg").bytes), large)
        var encoding = EncodeOptions()
        encoding.embedsThumbnail = true
        let sink = MemorySink()
        try manager.encode(image, to: "jpeg", encoding, into: sink)
        let bytes = sink.bytes
        // The thumbnail has a scan of its own, before the one of the image.
        let scan = try #require(bytes.indices.dropLast().last { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
        var seen: [(count: Int, size: PixelSize)] = []
        var first: PixelBuffer?

        _ = try feed(bytes, piece: 100, options(.everyScan)) { image, count in
            seen.append((count, image.size))
            if first == nil { first = image.still?.pixels }
        }

        #expect(seen.count > 1 && seen.allSatisfy { $0.size == image.pixels.size })
        // The header ends with the start of the scan.
        #expect(try #require(seen.first).count < scan + 120)
        let sharpness = try ImageComparison(
            PixelConverter.convert(#require(first), to: .rgba8), PixelConverter.convert(image.pixels, to: .rgba8))
        #expect(sharpness.psnr > 15)
    }

    @Test func `do not exist without a policy`() async throws {
        let bytes = Fixture.named("images/photo.jpg").bytes
        let parts = stride(from: 0, to: bytes.count, by: 1000).map { Array(bytes[$0..<min(bytes.count, $0 + 1000)]) }
        let task = manager(ScriptedLoader(["a": .parts(parts)])).load(ImageRequest("a", options(.none)))
        var previews = 0
        for await event in task.events { if case .preview = event { previews += 1 } }
        #expect(previews == 0)
    }

    /// Sends each part after the first one when the test opens its gate.
    private struct PausingLoader: ImageLoading {
        let parts: [[UInt8]]
        let gates = [Gate(), Gate()]

        func canLoad(_ request: ImageRequest) -> Bool { true }

        func load(
            _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
            onProgress: @escaping @Sendable (LoadProgress) -> Void
        ) async throws(CoderError) -> LoadedData {
            let source = try ImageSource(growingTo: parts.reduce(0) { $0 + $1.count }, name: request.url)
            for (index, part) in parts.enumerated() {
                if index > 0 { await gates[index - 1].passed() }
                try source.append(part)
                onProgress(LoadProgress(source, expected: nil))
            }
            source.finish()
            return LoadedData(.source(source))
        }
    }

    @Test func `appear after their interval, even if the server pauses`() async throws {
        let bytes = Fixture.named("images/photo.png").bytes
        let cuts = [0, bytes.count / 3, bytes.count * 2 / 3, bytes.count]
        let loader = PausingLoader(parts: (0..<3).map { Array(bytes[cuts[$0]..<cuts[$0 + 1]]) })
        let configuration = ImageManagerConfiguration(
            coders: builtHost().manager, cache: PlainCache(), loader: loader)
        let manager = ImageManager(configuration, ManagerClock(previews: clock.previews))
        var previews = 0

        // The time passes at once, but only while the second preview waits for it.
        clock.gate.open()
        let task = manager.load(ImageRequest("a.png", options(.paced())))
        for await event in task.events {
            guard case .preview = event else { continue }
            previews += 1
            if previews <= 2 { loader.gates[previews - 1].open() }
        }

        #expect(previews >= 2)
        #expect(try await task.value.image.size == PixelSize(160, 120))
    }
}
