public import ImageModel

/// One picture of an animation as it is seen, and how long.
public struct ImageFrame: Sendable {
    /// The whole canvas.
    public var pixels: PixelBuffer
    /// As stored in the file; see ``DurationPolicy`` for how long it is shown.
    public var duration: FrameDuration

    public init(_ pixels: PixelBuffer, duration: FrameDuration) {
        self.pixels = pixels
        self.duration = duration
    }
}

/// How long frames are shown whose stored duration is none.
public enum DurationPolicy: Sendable, Hashable {
    /// What browsers do: below 11 ms a frame is shown for 100 ms, because writers of old meant "as usual" by it.
    case browser
    /// As stored: a frame of no duration is passed over at once. One whose duration is not stored at all is shown for
    /// 100 ms.
    case exact

    private static let shortest = 11_000_000
    private static let usual = 100_000_000

    /// Nanoseconds a frame is shown.
    public func nanoseconds(_ duration: FrameDuration) -> Int {
        if duration.denominator == 0 { return Self.usual }
        let stored = Int(UInt64(duration.numerator) * 1_000_000_000 / UInt64(duration.denominator))
        return self == .browser && stored < Self.shortest ? Self.usual : stored
    }
}

/// Animations as lists of pictures that all last equally long, for systems that know nothing else.
public enum FrameRepetition {
    /// How often each frame has to appear so that all appearances last equally long.
    ///
    /// Durations are cut to whole milliseconds; the unit is their greatest common divisor.
    /// - Returns: unit 0, and every frame once, when no frame has a duration.
    public static func counts(_ durations: [FrameDuration]) -> (unitMilliseconds: Int, counts: [Int]) {
        let all = durations.map { Int($0.milliseconds) }
        let unit = all.reduce(0, gcd)
        return (unit, unit == 0 ? all.map { _ in 1 } : all.map { max(1, $0 / unit) })
    }

    /// The list for an animation: every frame as often as ``counts(_:)`` says.
    public static func pictures(of frames: [ImageFrame]) -> (pictures: [PixelBuffer], milliseconds: Int) {
        let (unit, counts) = counts(frames.map(\.duration))
        var pictures: [PixelBuffer] = []
        pictures.reserveCapacity(counts.reduce(0, +))
        for (frame, count) in zip(frames, counts) {
            pictures.append(contentsOf: repeatElement(frame.pixels, count: count))
        }
        return (pictures, unit * pictures.count)
    }

    /// The frames of such a list: runs of the same picture become one frame.
    ///
    /// - Parameter milliseconds: of the whole list; 0 stands for 100 ms a picture.
    public static func frames(of pictures: [PixelBuffer], milliseconds: Int) -> [ImageFrame] {
        var frames: [ImageFrame] = []
        var start = 0
        while start < pictures.count {
            var end = start + 1
            while end < pictures.count, pictures[end] === pictures[start] { end += 1 }
            let total = milliseconds > 0 ? milliseconds : 100 * pictures.count
            let duration = FrameDuration(
                UInt32(clamping: total * (end - start)), over: UInt32(clamping: 1000 * pictures.count))
            frames.append(ImageFrame(pictures[start], duration: duration))
            start = end
        }
        return frames
    }

    private static func gcd(_ a: Int, _ b: Int) -> Int {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return a
    }
}
