internal import ImageModel

/// Turns durations into whole units of a second without letting the sum drift.
struct FrameClock {
    /// Units of a second.
    let timescale: UInt64
    /// Whether a duration was rounded, or cut.
    private(set) var hasRounded = false
    /// What was rounded away so far, in units: a fraction below one.
    private var rest = (numerator: Int64(0), denominator: Int64(1))

    /// Exact for 1/1000, 1/100, 1/60, 1/50, 1/48, 1/30, 1/25 and 1/24 of a second.
    static let common: UInt64 = 90_000

    /// - Parameter first: the duration of the first frame; its unit is taken in where the product stays small.
    init(first: FrameDuration) {
        let unit = UInt64(first.denominator)
        let both = unit == 0 ? Self.common : Self.common / Self.divisor(Self.common, unit) * unit
        // A frame of three minutes still fits 32 bits.
        timescale = both <= 1 << 24 ? both : Self.common
    }

    /// The duration of the next frame in units.
    mutating func units(_ duration: FrameDuration) -> UInt64 {
        guard duration.denominator > 0 else { return 0 }
        let product = UInt64(duration.numerator) * timescale
        let unit = Int64(duration.denominator)
        let whole = product / UInt64(duration.denominator)
        let part = Int64(product % UInt64(duration.denominator))
        guard whole < UInt64(UInt32.max) else {
            hasRounded = true
            return UInt64(UInt32.max)
        }
        // The carried rest over a new denominator; beyond 32 bits it is too small to matter.
        if part == 0, rest.numerator == 0 { return whole }
        hasRounded = hasRounded || part != 0
        let common = rest.denominator == unit ? unit : rest.denominator * unit
        var sum = rest.denominator == unit ? rest.numerator + part : rest.numerator * unit + part * rest.denominator
        // To nearest: from half a unit on, the frame has one more, and the next ones have that much less.
        var result = Int64(whole)
        if 2 * sum >= common {
            sum -= common
            result += 1
        } else if 2 * sum < -common {
            sum += common
            result -= 1
        }
        rest = Self.reduced(sum, common)
        return UInt64(max(0, result))
    }

    private static func reduced(_ numerator: Int64, _ denominator: Int64) -> (numerator: Int64, denominator: Int64) {
        let divisor = Int64(Self.divisor(numerator.magnitude, denominator.magnitude))
        var (top, bottom) = (numerator / divisor, denominator / divisor)
        while bottom > Int64(Int32.max) / 2 { (top, bottom) = (top / 2, bottom / 2) }
        return top == 0 ? (0, 1) : (top, bottom)
    }

    private static func divisor(_ a: UInt64, _ b: UInt64) -> UInt64 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(1, a)
    }
}
