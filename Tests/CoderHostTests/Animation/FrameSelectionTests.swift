import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Frame selection` {
    private static let uneven = [
        FrameDuration(1, over: 25), FrameDuration(7, over: 100), FrameDuration(1001, over: 30000),
        FrameDuration(0, over: 0),
        FrameDuration(1, over: 3), FrameDuration(5, over: 100), FrameDuration(1, over: 60),
    ]

    /// The sum as an exact fraction in lowest terms: numerator and denominator.
    private func sum(_ durations: [FrameDuration]) -> [Int] {
        var (top, bottom) = (0, 1)
        for duration in durations {
            top = top * Int(duration.denominator) + Int(duration.numerator) * bottom
            bottom *= Int(duration.denominator)
            var (x, y) = (top, bottom)
            while y != 0 { (x, y) = (y, x % y) }
            (top, bottom) = (top / x, bottom / x)
        }
        return [top, bottom]
    }

    private func select(
        _ durations: [FrameDuration], _ change: (inout FrameSelection) -> Void
    ) throws -> [FrameSelection.Frame] {
        var selection = FrameSelection()
        change(&selection)
        return try selection.frames(of: durations)
    }

    @Test func `keeps everything by default`() throws {
        let frames = try select(Self.uneven) { _ in }
        #expect(frames.map(\.duration) == Self.uneven)
        #expect(frames.map(\.index) == Array(0..<7))
    }

    @Test(arguments: 2...8) func `gives the time of dropped frames to the frame before`(step: Int) throws {
        let frames = try select(Self.uneven) { $0.step = step }

        #expect(frames.map(\.index) == Array(stride(from: 0, to: 7, by: step)))
        // A frame without a duration counts as 1/10 s.
        let stored = Self.uneven.map { $0.denominator == 0 ? FrameDuration(1, over: 10) : $0 }
        #expect(sum(frames.map(\.duration)) == sum(stored))
        for (frame, next) in zip(frames, frames.dropFirst().map(\.index) + [7]) {
            #expect(sum([frame.duration]) == sum(Array(stored[frame.index..<next])))
        }
    }

    @Test(arguments: [(0.5, 2, 1), (2, 1, 2), (1.5, 2, 3), (0.001, 1000, 1)] as [(Double, Int, Int)])
    func `divides durations by the speed`(speed: Double, top: Int, bottom: Int) throws {
        let durations = [FrameDuration(1, over: 25), FrameDuration(3, over: 50)]
        let frames = try select(durations) { $0.speed = speed }
        for (frame, stored) in zip(frames, durations) {
            #expect(
                sum([frame.duration])
                    == sum([FrameDuration(stored.numerator * UInt32(top), over: stored.denominator * UInt32(bottom))]))
        }
    }

    /// 30 frames a second for 2 s.
    @Test(arguments: [1, 7, 10, 12, 15, 20, 24] as [UInt32])
    func `drops frames to a lower rate at the same length`(rate: UInt32) throws {
        let durations = [FrameDuration](repeating: FrameDuration(1, over: 30), count: 60)
        let frames = try select(durations) { $0.interval = FrameDuration(1, over: rate) }

        #expect(frames.count == 2 * Int(rate))
        #expect(frames.allSatisfy { $0.duration == FrameDuration(1, over: rate) })
        // Every frame is the one that the source shows at the tick.
        for (tick, frame) in frames.enumerated() {
            #expect(frame.index == tick * 30 / Int(rate))
        }
    }

    @Test(arguments: [30, 50, 1000] as [UInt32]) func `never repeats frames for a higher rate`(rate: UInt32) throws {
        let durations = [FrameDuration](repeating: FrameDuration(1, over: 10), count: 8)
        let frames = try select(durations) { $0.interval = FrameDuration(1, over: rate) }
        #expect(frames.map(\.index) == Array(0..<8))
        #expect(frames.allSatisfy { $0.duration == FrameDuration(1, over: 10) })
    }

    @Test func `applies speed before rate`() throws {
        let durations = [FrameDuration](repeating: FrameDuration(1, over: 10), count: 40)
        let frames = try select(durations) {
            $0.speed = 2
            $0.interval = FrameDuration(1, over: 10)
        }
        #expect(frames.map(\.index) == Array(stride(from: 0, to: 40, by: 2)))
        #expect(frames.allSatisfy { $0.duration == FrameDuration(1, over: 10) })
    }

    @Test func `trims with the time of the frames, then reverses`() throws {
        let frames = try select(Self.uneven) {
            $0.range = 2...4
            $0.isReversed = true
        }
        #expect(frames.map(\.index) == [4, 3, 2])
        #expect(frames.map(\.duration) == [Self.uneven[4], Self.uneven[3], Self.uneven[2]])
        #expect(try select(Self.uneven) { $0.range = 5...Int.max }.map(\.index) == [5, 6])
    }

    /// The common denominator of these has more than 32 bits.
    @Test func `does not let rounding add up`() throws {
        let odd: [UInt32] = [65521, 65519, 65497, 65479, 65449]
        let durations = (0..<500).map { FrameDuration(3000, over: odd[$0 % 5]) }
        let frames = try select(durations) { $0.step = 3 }
        let exact = durations.map(\.milliseconds).reduce(0, +)
        let written = frames.map(\.duration.milliseconds).reduce(0, +)
        #expect(abs(written - exact) < 0.01)
    }

    @Test func `survives extreme values`() throws {
        let durations = [FrameDuration(.max, over: 1), FrameDuration(1, over: .max), FrameDuration(5, over: 0)]
        for speed in [0.001, 1, 1000] {
            let frames = try select(durations) {
                $0.speed = speed
                $0.step = .max
            }
            #expect(frames.map(\.index) == [0])
        }
    }

    @Test func `refuses invalid values`() {
        let changes: [(inout FrameSelection) -> Void] = [
            { $0.range = 3...7 }, { $0.range = 7...Int.max }, { $0.range = -1...3 }, { $0.step = 0 }, { $0.speed = 0 },
            { $0.speed = .nan }, { $0.interval = FrameDuration(0, over: 5) }, { $0.interval = .unknown },
        ]
        for change in changes {
            let error = #expect(throws: CoderError.self) { try select(Self.uneven, change) }
            #expect(error?.code == .invalidArgument)
        }
    }
}

@Suite struct `Writing selected frames` {
    private static let animations = ["images/three-frames.gif", "images/three-frames.webp", "apng/three-frames.png"]

    private func open(_ name: String) throws -> AnimatedImage {
        try AnimatedImage(Bench.source(Fixture.named(name)), manager: Bench.manager)
    }

    private func write(
        _ animation: AnimatedImage, to format: ImageFormat = "apng", _ options: EncodeOptions
    ) throws -> AnimatedImage {
        let sink = MemorySink()
        try Bench.manager.encode(animation, to: format, options, into: sink)
        return try AnimatedImage(ImageSource(sink.bytes), manager: Bench.manager)
    }

    @Test(arguments: animations)
    func `keeps pixels, loop count and the sum of durations`(name: String) throws {
        let source = try open(name)
        var options = EncodeOptions()
        options.frames.step = 2
        options.frames.isReversed = true

        let again = try write(source, options)

        #expect(again.frameCount == 2)
        #expect(again.loopCount == source.loopCount)
        let digests = try (0..<2).map { PixelDigest.of(try again.frame(at: $0).pixels) }
        #expect(try digests == [2, 0].map { PixelDigest.of(try source.frame(at: $0).pixels) })
        let (stored, written) = try (
            (0..<3).map { try source.duration(at: $0).milliseconds },
            (0..<2).map { try again.duration(at: $0).milliseconds }
        )
        #expect(written == [stored[2], stored[0] + stored[1]])
    }

    @Test(arguments: animations) func `writes a selection of one frame as a still`(name: String) throws {
        let source = try open(name)
        var options = EncodeOptions()
        options.frames.range = 1...1

        let again = try write(source, to: "png", options)

        #expect(again.frameCount == 1)
        #expect(try PixelDigest.of(again.frame(at: 0).pixels) == PixelDigest.of(source.frame(at: 1).pixels))
    }
}
