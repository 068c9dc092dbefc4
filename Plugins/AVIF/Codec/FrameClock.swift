internal import ImageModel

/// Converts durations to whole units of a second, without a drift of their sum.
struct FrameClock {
    /// 2³² parts of a unit: rounding to these loses only a small part of one unit, for any sum of frames.
    private static let parts: Int128 = 1 << 32
    /// Exact for 1/1000, 1/100, 1/60, 1/50, 1/48, 1/30, 1/25 and 1/24 of a second.
    static let common: UInt64 = 90_000
    /// The maximum duration of a frame in units.
    ///
    /// - Source: ISO/IEC 14496-12:2022 section 8.6.1.2 (`stts`): 32 bits.
    static let longest = UInt64(UInt32.max)

    /// Units per second.
    let timescale: UInt64
    private(set) var hasRounded = false
    /// Whether a duration was too long to be stored.
    private(set) var hasCut = false
    /// Whether a frame of duration 0 was given one unit.
    private(set) var hasLengthened = false
    private var passed: Int128 = 0
    private var written: Int128 = 0

    /// Whether the sum of all durations is unchanged, to the unit.
    var keepsSum: Bool { !hasCut && !hasLengthened && (written * Self.parts - passed).magnitude <= Self.parts }

    /// - Parameter first: the duration of the first frame; the clock includes its unit if the product stays small.
    init(first: FrameDuration) {
        let unit = UInt64(first.denominator)
        let both = unit == 0 ? Self.common : Self.common / Self.divisor(Self.common, unit) * unit
        // A frame of three minutes still fits 32 bits.
        timescale = both <= 1 << 24 ? both : Self.common
    }

    /// Returns the duration of the next frame in units, at least 1: libavif writes no 0.
    mutating func units(_ duration: FrameDuration) -> UInt64 {
        guard duration.denominator > 0, duration.numerator > 0 else {
            // Not taken from the following frames: they can still be exact.
            hasLengthened = true
            return 1
        }
        let (units, denominator) = (Int128(duration.numerator) * Int128(timescale), Int128(duration.denominator))
        if units > Int128(Self.longest) * denominator {
            hasCut = true
            passed += Int128(Self.longest) * Self.parts
        } else {
            if units % denominator != 0 { hasRounded = true }
            passed += (units * Self.parts * 2 + denominator) / (denominator * 2)
        }
        // The next frame takes the rest that exceeds the longest duration, or the added time.
        let due = max(1, min((passed + Self.parts / 2) / Self.parts - written, Int128(Self.longest)))
        written += due
        return UInt64(due)
    }

    private static func divisor(_ a: UInt64, _ b: UInt64) -> UInt64 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(1, a)
    }
}
