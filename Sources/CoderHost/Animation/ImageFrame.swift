public import ImageModel

/// One composited frame of an animation and its duration.
public struct ImageFrame: Sendable {
    /// The pixels of the whole canvas.
    public var pixels: PixelBuffer
    /// The duration as stored in the file; a player may display a short frame for longer.
    public var duration: FrameDuration

    /// Creates a frame.
    package init(_ pixels: PixelBuffer, duration: FrameDuration) {
        self.pixels = pixels
        self.duration = duration
    }
}

/// How long to display frames with very short or missing durations.
package enum DurationPolicy: Sendable, Hashable {
    /// Browser behavior: a duration below 11 ms becomes 100 ms, because old encoders used it for "default".
    case browser
    /// The stored duration: a frame of zero duration is skipped at once. A missing duration becomes 100 ms.
    case exact

    private static let shortest = 11_000_000
    private static let usual = 100_000_000

    /// Returns the display time of a frame in nanoseconds.
    package func nanoseconds(_ duration: FrameDuration) -> Int {
        if duration.denominator == 0 { return Self.usual }
        let stored = Int(UInt64(duration.numerator) * 1_000_000_000 / UInt64(duration.denominator))
        return self == .browser && stored < Self.shortest ? Self.usual : stored
    }
}

/// Converts animations to lists of images with equal durations, for systems without individual durations.
package enum FrameRepetition {
    /// Returns how often each frame must be repeated so that all images have equal durations.
    ///
    /// Durations are truncated to milliseconds; the unit is their greatest common divisor.
    /// - Returns: unit 0, and every frame once, if no frame has a duration.
    package static func counts(_ durations: [FrameDuration]) -> (unitMilliseconds: Int, counts: [Int]) {
        let all = durations.map { Int($0.milliseconds) }
        let unit = all.reduce(0, gcd)
        return (unit, unit == 0 ? all.map { _ in 1 } : all.map { max(1, $0 / unit) })
    }

    /// Returns the image list of an animation, with each frame repeated according to ``counts(_:)``.
    package static func images(of frames: [ImageFrame]) -> (images: [PixelBuffer], milliseconds: Int) {
        let (unit, counts) = counts(frames.map(\.duration))
        var images: [PixelBuffer] = []
        images.reserveCapacity(counts.reduce(0, +))
        for (frame, count) in zip(frames, counts) {
            images.append(contentsOf: repeatElement(frame.pixels, count: count))
        }
        return (images, unit * images.count)
    }

    /// Converts an image list to frames: runs of the same image become one frame.
    ///
    /// - Parameter milliseconds: the duration of the whole list; 0 means 100 ms per image.
    package static func frames(of images: [PixelBuffer], milliseconds: Int) -> [ImageFrame] {
        var frames: [ImageFrame] = []
        var start = 0
        while start < images.count {
            var end = start + 1
            while end < images.count, images[end] === images[start] { end += 1 }
            let total = milliseconds > 0 ? milliseconds : 100 * images.count
            let duration = FrameDuration(
                UInt32(clamping: total * (end - start)), over: UInt32(clamping: 1000 * images.count))
            frames.append(ImageFrame(images[start], duration: duration))
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
