internal import ImageModel

/// A delay as fcTL holds it: a fraction of seconds with 16 bits each.
///
/// - Source: PNG 3rd edition, 11.3.6.2.
struct FrameDelay: Hashable {
    var numerator: UInt16
    var denominator: UInt16

    /// Returns the fraction as it is, or in its lowest terms; nil if both are too large.
    init?(exactly duration: FrameDuration) {
        // Without a denominator the duration is unknown; 0 would mean 100 in the file as well.
        self.init(UInt64(duration.numerator), duration.denominator == 0 ? 100 : UInt64(duration.denominator))
    }

    private init?(_ numerator: UInt64, _ denominator: UInt64) {
        var (numerator, denominator) = (numerator, denominator)
        if numerator > UInt16.max || denominator > UInt16.max {
            let divisor = Self.greatestDivisor(numerator, denominator)
            (numerator, denominator) = (numerator / divisor, denominator / divisor)
        }
        guard let small = UInt16(exactly: numerator), let part = UInt16(exactly: denominator) else { return nil }
        self.numerator = small
        self.denominator = part
    }

    /// Returns the fraction nearest to some seconds, at most 65535.
    init(nearest seconds: Double) {
        let bounded = min(max(seconds, 0), 65535)
        let denominator = bounded <= 1 ? 65535 : (65535 / bounded).rounded(.down)
        self.denominator = UInt16(denominator)
        numerator = UInt16(min((bounded * denominator).rounded(), 65535))
    }

    var seconds: Double { Double(numerator) / Double(denominator) }

    /// Returns the sum of both delays; nil if it does not fit the fraction.
    func adding(_ other: FrameDelay) -> FrameDelay? {
        let (a, b) = (UInt64(denominator), UInt64(other.denominator))
        let common = a / Self.greatestDivisor(a, b) * b
        return FrameDelay(UInt64(numerator) * (common / a) + UInt64(other.numerator) * (common / b), common)
    }

    private static func greatestDivisor(_ a: UInt64, _ b: UInt64) -> UInt64 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(a, 1)
    }
}

/// Converts the durations of frames, so that rounding errors do not add up.
struct DelayFitter {
    /// Seconds by which the frames so far are too short.
    private var debt = 0.0
    private(set) var hasRounded = false
    /// Whether a duration was too long to be stored.
    private(set) var hasCut = false

    /// Returns the delay of a frame, and whether it is exact.
    mutating func fit(_ duration: FrameDuration) -> (delay: FrameDelay, isExact: Bool) {
        if let exact = FrameDelay(exactly: duration) { return (exact, true) }
        let seconds = Double(duration.numerator) / Double(duration.denominator == 0 ? 100 : duration.denominator)
        guard seconds <= 65535 else {
            // Later frames cannot compensate a duration that was cut.
            hasCut = true
            return (FrameDelay(nearest: 65535), false)
        }
        hasRounded = true
        let delay = FrameDelay(nearest: seconds + debt)
        debt += seconds - delay.seconds
        return (delay, false)
    }
}
