import CoderPluginKit
import ImageModel

/// Converts durations to the whole milliseconds of the format, without a drift of their sum.
struct AWebPClock {
    /// 2³² parts of a millisecond: rounding to these loses only a small part of one, for any sum of frames.
    private static let parts: Int128 = 1 << 32

    /// - Source: RFC 9649 section 2.7.1.1: 24 bits.
    static let longest = 0xFF_FFFF

    private var passed: Int128 = 0
    private var written: Int128 = 0
    private(set) var isExact = true
    /// Whether a duration was too long to be stored.
    private(set) var hasCut = false

    /// Whether the duration is a whole number of milliseconds.
    static func isWhole(_ duration: FrameDuration) -> Bool {
        duration.denominator == 0 || Int(duration.numerator) * 1000 % Int(duration.denominator) == 0
    }

    /// Returns the milliseconds to store.
    mutating func milliseconds(_ duration: FrameDuration) -> Int {
        guard duration.denominator > 0 else { return 0 }
        let (numerator, denominator) = (Int128(duration.numerator) * 1000, Int128(duration.denominator))
        if numerator > Int128(Self.longest) * denominator {
            hasCut = true
            passed += Int128(Self.longest) * Self.parts
        } else {
            if !Self.isWhole(duration) { isExact = false }
            passed += (numerator * Self.parts * 2 + denominator) / (denominator * 2)
        }
        // The next frame takes the rest that exceeds the longest duration.
        let due = min((passed + Self.parts / 2) / Self.parts - written, Int128(Self.longest))
        written += due
        return Int(due)
    }
}
