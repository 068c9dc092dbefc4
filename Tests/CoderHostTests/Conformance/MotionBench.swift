import CoderHost
import ImageModel
import TestSupport
import Testing

/// The composited frames of an animation, to compare before encoding and after decoding.
struct Motion: Equatable, Sendable {
    var size: PixelSize
    /// RGBA of each frame; the color of transparent pixels is 0.
    var images: [[UInt8]]
    var durations: [FrameDuration]
    var loopCount: LoopCount

    /// Blocks that move over diagonal stripes; few colors, and transparent holes if requested.
    static func blocks(
        _ width: Int, _ height: Int, frames: Int, hasAlpha: Bool = false, loopCount: LoopCount = .infinite,
        durations: [FrameDuration] = [.milliseconds(100)]
    ) -> Motion {
        let images = (0..<frames).map { frame in
            (0..<width * height).flatMap { at -> [UInt8] in
                let (x, y) = (at % width, at / width)
                let left = frame * 3 % max(1, width - 4)
                if (left..<left + 4).contains(x), (2..<6).contains(y) { return [255, UInt8(frame * 9 % 200), 0, 255] }
                if hasAlpha, (x + frame) % 8 < 2 { return [0, 0, 0, 0] }
                return [UInt8((x + y) % 4 * 50), 90, 200, 255]
            }
        }
        return Motion(
            size: PixelSize(width, height), images: images,
            durations: (0..<frames).map { durations[$0 % durations.count] }, loopCount: loopCount)
    }

    /// Reads every frame of an animation.
    init(_ image: AnimatedImage) throws {
        size = image.size
        loopCount = image.loopCount
        durations = try (0..<image.frameCount).map { try image.duration(at: $0) }
        images = try (0..<image.frameCount).map { try Motion.rgba(image.frame(at: $0).pixels) }
    }

    init(size: PixelSize, images: [[UInt8]], durations: [FrameDuration], loopCount: LoopCount) {
        self.size = size
        self.images = images
        self.durations = durations
        self.loopCount = loopCount
    }

    static func rgba(_ buffer: PixelBuffer) throws -> [UInt8] {
        PixelDigest.rgba8(buffer, hidingTransparentColor: true)
    }

    func buffer(_ index: Int) throws -> PixelBuffer { try .of(size, .rgba8, images[index]) }

    /// Durations are compared as fractions: 1/10 equals 100/1000.
    static func == (a: Motion, b: Motion) -> Bool {
        a.size == b.size && a.loopCount == b.loopCount && a.images == b.images
            && a.durations.count == b.durations.count && zip(a.durations, b.durations).allSatisfy(isSame)
    }

    static func isSame(_ a: FrameDuration, _ b: FrameDuration) -> Bool {
        UInt64(a.numerator) * UInt64(b.denominator) == UInt64(b.numerator) * UInt64(a.denominator)
            && (a.denominator == 0) == (b.denominator == 0)
    }
}

/// An animation format, with options for lossless encoding.
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

    /// Encodes frame by frame and returns the warnings.
    static func encode(
        _ motion: Motion, to target: AnimatedTarget, limits: DecodeLimits? = nil
    ) throws -> (bytes: [UInt8], warnings: [String]) {
        let sink = MemorySink()
        let info = ImageInfo(
            size: motion.size, nativeFormat: .rgba8, frameCount: motion.images.count, loopCount: motion.loopCount,
            isAnimated: true)
        let encoder = try manager.makeAnimationEncoder(
            to: target.format, of: info, options: target.options, limits: limits, into: sink)
        for index in motion.images.indices {
            try encoder.add(try motion.buffer(index), duration: motion.durations[index])
        }
        let warnings = try encoder.finish().warnings
        return (sink.bytes, warnings)
    }
}
