import CoderHost
import ImageModel
import TestSupport
import Testing

/// An animation as it is seen: what goes into an encoder has to come out of its file.
struct Motion: Equatable, Sendable {
    var size: PixelSize
    /// RGBA of each frame; colour that nobody can see is 0.
    var pictures: [[UInt8]]
    var durations: [FrameDuration]
    var loopCount: LoopCount

    /// Blocks that wander over a ground of slanted stripes; few colours, and holes where asked for.
    static func blocks(
        _ width: Int, _ height: Int, frames: Int, hasAlpha: Bool = false, loopCount: LoopCount = .infinite,
        durations: [FrameDuration] = [.milliseconds(100)]
    ) -> Motion {
        let pictures = (0..<frames).map { frame in
            (0..<width * height).flatMap { at -> [UInt8] in
                let (x, y) = (at % width, at / width)
                let left = frame * 3 % max(1, width - 4)
                if (left..<left + 4).contains(x), (2..<6).contains(y) { return [255, UInt8(frame * 9 % 200), 0, 255] }
                if hasAlpha, (x + frame) % 8 < 2 { return [0, 0, 0, 0] }
                return [UInt8((x + y) % 4 * 50), 90, 200, 255]
            }
        }
        return Motion(
            size: PixelSize(width, height), pictures: pictures,
            durations: (0..<frames).map { durations[$0 % durations.count] }, loopCount: loopCount)
    }

    /// Reads every frame of an animation.
    init(_ image: AnimatedImage) throws {
        size = image.size
        loopCount = image.loopCount
        durations = try (0..<image.frameCount).map { try image.duration(at: $0) }
        pictures = try (0..<image.frameCount).map { try Motion.rgba(image.frame(at: $0).pixels) }
    }

    init(size: PixelSize, pictures: [[UInt8]], durations: [FrameDuration], loopCount: LoopCount) {
        self.size = size
        self.pictures = pictures
        self.durations = durations
        self.loopCount = loopCount
    }

    static func rgba(_ buffer: PixelBuffer) throws -> [UInt8] {
        PixelDigest.rgba8(buffer, hidingTransparentColor: true)
    }

    func buffer(_ index: Int) throws -> PixelBuffer { try .of(size, .rgba8, pictures[index]) }

    /// Durations are fractions: 1/10 and 100/1000 are the same.
    static func == (a: Motion, b: Motion) -> Bool {
        a.size == b.size && a.loopCount == b.loopCount && a.pictures == b.pictures
            && a.durations.count == b.durations.count && zip(a.durations, b.durations).allSatisfy(isSame)
    }

    static func isSame(_ a: FrameDuration, _ b: FrameDuration) -> Bool {
        UInt64(a.numerator) * UInt64(b.denominator) == UInt64(b.numerator) * UInt64(a.denominator)
            && (a.denominator == 0) == (b.denominator == 0)
    }
}

/// A format that holds animations, and options with which it loses nothing.
struct AnimatedTarget: Sendable, CustomTestStringConvertible {
    var format: ImageFormat
    var options: CoderOptions = [:]
    var testDescription: String { format.id }

    static let all = [
        AnimatedTarget(format: "gif"), AnimatedTarget(format: "apng"),
        AnimatedTarget(format: "webp", options: ["lossless": .bool(true)]),
        AnimatedTarget(format: "avif", options: ["lossless": .bool(true)]),
    ]
}

extension Bench {
    static func open(_ bytes: [UInt8], limits: DecodeLimits? = nil) throws(CoderError) -> AnimatedImage {
        try AnimatedImage(ImageSource(bytes), manager: manager, limits: limits)
    }

    /// Encodes frame by frame, and says what was off.
    static func encode(
        _ motion: Motion, to target: AnimatedTarget, limits: DecodeLimits? = nil
    ) throws -> (bytes: [UInt8], warnings: [String]) {
        let sink = MemorySink()
        let info = ImageInfo(
            size: motion.size, nativeFormat: .rgba8, frameCount: motion.pictures.count, loopCount: motion.loopCount,
            isAnimated: true)
        let encoder = try manager.makeAnimationEncoder(
            to: target.format, of: info, options: target.options, limits: limits, into: sink)
        for index in motion.pictures.indices {
            try encoder.add(try motion.buffer(index), duration: motion.durations[index])
        }
        let warnings = try encoder.finish().warnings
        return (sink.bytes, warnings)
    }
}
