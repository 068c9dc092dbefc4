public import ImageModel

/// The frames of an animation to keep, their order and their durations.
///
///     var selection = FrameSelection()
///     selection.step = 2
///     selection.speed = 1.5
///     let frames = try selection.frames(of: durations)
///
/// The steps apply in the order of the properties. Frames that ``range`` leaves out take their time with them. The time
/// of all other dropped frames goes to the kept frame before them, so the sum of the durations stays the same.
///
/// If a step uses durations, a frame without a duration counts as 1/10 s, as browsers display it.
public struct FrameSelection: Sendable, Hashable {
    /// A frame of the result.
    public struct Frame: Sendable, Hashable {
        /// The number of the frame in the source, from 0.
        public var index: Int
        /// How long the frame is displayed.
        public var duration: FrameDuration
    }

    /// The frames to keep, from 0; nil for all. An upper bound of `Int.max` is the last frame.
    public var range: ClosedRange<Int>?
    /// Keeps the first of every `step` frames.
    public var step = 1
    /// The playback speed: 2 halves every duration. Rounded to thousandths, from 0.001 to 1000.
    public var speed = 1.0
    /// The time between frames; nil keeps all frames. Frames are only dropped, never repeated.
    public var interval: FrameDuration?
    /// Whether the last frame comes first.
    public var isReversed = false

    /// Creates a selection of all frames.
    public init() {}

    /// Whether all frames stay as they are.
    package var isIdentity: Bool { self == FrameSelection() }

    /// Returns the frames in the order in which they are displayed.
    ///
    /// The sum of the durations is exact if their common denominator has at most 32 bits; otherwise the start of every
    /// frame is rounded to a microsecond.
    /// - Parameter durations: the durations of all frames of the source.
    /// - Throws: `.invalidArgument` for an invalid property, or a range beyond the frames.
    public func frames(of durations: [FrameDuration]) throws(CoderError) -> [Frame] {
        let kept = try indices(durations.count)
        var frames = kept.map { Frame(index: $0, duration: durations[$0]) }
        if step != 1 || speed != 1 || interval != nil { frames = try retimed(frames) }
        return isReversed ? frames.reversed() : frames
    }

    private func indices(_ count: Int) throws(CoderError) -> Range<Int> {
        guard let range else { return 0..<count }
        for bound in [range.lowerBound, range.upperBound] where bound < 0 || bound >= count && bound != .max {
            throw .invalidArgument("there is no frame \(bound)", hint: "it has \(count), counted from 0")
        }
        guard range.lowerBound < count else {
            throw .invalidArgument("there is no frame \(range.lowerBound)", hint: "it has \(count), counted from 0")
        }
        return range.lowerBound..<min(count, range.upperBound == .max ? count : range.upperBound + 1)
    }

    private func retimed(_ frames: [Frame]) throws(CoderError) -> [Frame] {
        guard step >= 1 else { throw .invalidArgument("invalid step \(step)", hint: "use 1 or more") }
        guard (0.001...1000).contains(speed) else {
            throw .invalidArgument("invalid speed \(speed)", hint: "use 0.001 to 1000")
        }
        if let interval, interval.numerator == 0 || interval.denominator == 0 {
            throw .invalidArgument("invalid interval \(interval)", hint: "use a time above 0 s")
        }
        let scale = (thousandths: Int128((speed * 1000).rounded()), one: Int128(1000))
        let durations = frames.map { frame in
            min(frame.duration.numerator, frame.duration.denominator) == 0
                ? FrameDuration(1, over: 10) : frame.duration
        }
        // At normal speed, frames are one interval apart; in the source, `speed` intervals.
        let spacing = interval.map { interval in
            Fraction(Int128(interval.numerator) * scale.thousandths, over: Int128(interval.denominator) * scale.one)
        }
        let clock = SelectionClock(durations, spacing)
        let step = min(step, frames.count)
        var result: [(index: Int, start: Int128)] = []
        for (number, frame) in frames.enumerated() where number % step == 0 {
            let end = clock.starts[min(number + step, frames.count)]
            var start = clock.starts[number]
            if let spacing = clock.spacing {
                // The first tick at or after the start.
                start = (start + spacing - 1) / spacing * spacing
                if start >= end { continue }
            }
            result.append((frame.index, start))
        }
        return result.indices.map { number in
            let end = number + 1 < result.count ? result[number + 1].start : clock.total
            let length = Fraction(
                (end - result[number].start) * scale.one, over: clock.unitsPerSecond * scale.thousandths)
            return Frame(index: result[number].index, duration: length.duration)
        }
    }
}

/// The starts of frames in units that suit all durations.
private struct SelectionClock {
    let unitsPerSecond: Int128
    /// The start of every frame, and the end of the last.
    let starts: [Int128]
    /// The time between frames.
    let spacing: Int128?

    var total: Int128 { starts[starts.count - 1] }

    init(_ durations: [FrameDuration], _ spacing: Fraction?) {
        var units: Int128 = spacing?.denominator ?? 1
        for duration in durations where units <= UInt32.max {
            let denominator = Int128(duration.denominator)
            units = units / Fraction.divisor(units, denominator) * denominator
        }
        let isExact = units <= UInt32.max
        if !isExact { units = 1_000_000 }
        unitsPerSecond = units
        self.spacing = spacing.map { max(1, $0.numerator * units / $0.denominator) }
        var starts: [Int128] = [0]
        // A part of a unit, in 2⁻³² units, so that rounding does not add up.
        var exact: Int128 = 0
        for duration in durations {
            exact += (Int128(duration.numerator) * units << 32) / Int128(duration.denominator)
            starts.append(
                isExact
                    ? starts[starts.count - 1] + Int128(duration.numerator) * units
                        / Int128(duration.denominator) : (exact + 1 << 31) >> 32)
        }
        self.starts = starts
    }
}

/// A fraction in lowest terms.
private struct Fraction {
    var numerator: Int128
    var denominator: Int128

    init(_ numerator: Int128, over denominator: Int128) {
        let divisor = max(1, Self.divisor(numerator, denominator))
        self.numerator = numerator / divisor
        self.denominator = denominator / divisor
    }

    /// The fraction as a duration; rounded if it needs more than 32 bits.
    var duration: FrameDuration {
        var (top, bottom) = (numerator, denominator)
        while top > UInt32.max || bottom > UInt32.max {
            // A duration above 136 years stays as long as possible.
            if bottom <= 1 { return FrameDuration(.max, over: 1) }
            (top, bottom) = ((top + 1) / 2, (bottom + 1) / 2)
        }
        return FrameDuration(UInt32(top), over: UInt32(bottom))
    }

    /// Returns the greatest common divisor.
    static func divisor(_ a: Int128, _ b: Int128) -> Int128 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return a
    }
}
