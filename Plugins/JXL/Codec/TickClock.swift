internal import ImageModel

/// Converts durations to whole ticks of a second, without a drift of their sum.
struct TickClock {
    /// Exact for 1/1000, 1/100, 1/60, 1/50, 1/48, 1/30, 1/25 and 1/24 of a second.
    private static let common: UInt64 = 90_000
    /// The largest number of ticks per second.
    ///
    /// - Source: ISO/IEC 18181-1, AnimationHeader: 30 bits and 1.
    private static let most: UInt64 = 1 << 30
    /// The largest number marks a page.
    private static let longest = UInt64(UInt32.max) - 1

    /// Ticks per second.
    let rate: UInt64
    private(set) var hasRounded = false
    private(set) var hasLengthened = false
    private(set) var hasCut = false
    /// The rest that rounding owes to the next frame, in parts of 2³² of a tick.
    private var rest: Int128 = 0

    /// - Parameter first: the duration of the first frame; the clock includes its unit if the rate stays small.
    init(first: FrameDuration) {
        var (a, b) = (Self.common, UInt64(max(1, first.denominator)))
        while b != 0 { (a, b) = (b, a % b) }
        let both = Self.common / max(1, a) * UInt64(max(1, first.denominator))
        rate = both <= Self.most ? both : Self.common
    }

    /// Returns the duration of the next frame in ticks, at least 1: a frame of 0 ticks is a layer of the next one.
    mutating func ticks(_ duration: FrameDuration) -> UInt32 {
        guard duration.denominator > 0, duration.numerator > 0 else {
            hasLengthened = true
            return 1
        }
        let exact = (Int128(duration.numerator) * Int128(rate)) << 32 / Int128(duration.denominator) + rest
        if UInt64(duration.numerator) * rate % UInt64(duration.denominator) != 0 { hasRounded = true }
        let whole = (exact + 1 << 31) >> 32
        if whole > Int128(Self.longest) {
            (hasCut, rest) = (true, 0)
            return UInt32(Self.longest)
        }
        let ticks = max(1, whole)
        rest = exact - ticks << 32
        return UInt32(ticks)
    }
}
