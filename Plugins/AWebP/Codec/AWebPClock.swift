import CoderPluginKit
import ImageModel

/// Turns durations into the whole milliseconds of the format, so that their sum does not drift.
struct AWebPClock {
    /// What the rounded durations owe the true ones, as a fraction of a millisecond.
    private var owed = (numerator: 0, denominator: 1)
    private(set) var isExact = true

    /// - Source: RFC 9649 section 2.7.1.1: 24 bits.
    static let longest = 0xFF_FFFF

    /// Whether the duration is a whole number of milliseconds.
    static func isWhole(_ duration: FrameDuration) -> Bool {
        duration.denominator == 0 || Int(duration.numerator) * 1000 % Int(duration.denominator) == 0
    }

    /// The milliseconds to store.
    mutating func milliseconds(_ duration: FrameDuration) -> Int {
        guard duration.denominator > 0 else { return 0 }
        if !Self.isWhole(duration) { isExact = false }
        let numerator = Int(duration.numerator) * 1000
        var (a, b) = (owed.denominator, Int(duration.denominator))
        let product = a / Self.divisor(a, b) * b
        if product <= 1 << 40 {
            owed.numerator *= product / a
            a = product
            owed.denominator = product
        } else {
            // Too fine to be kept; less than a billionth of a millisecond is lost.
            owed = (owed.numerator * (1 << 30) / a, 1 << 30)
            a = 1 << 30
        }
        // In whole milliseconds and the rest, so that nothing overflows.
        let (whole, rest) = numerator.quotientAndRemainder(dividingBy: b)
        b = Int((Double(rest) / Double(b) * Double(a)).rounded())
        let sum = owed.numerator + b
        var result = whole + Int((Double(sum) / Double(a)).rounded(.down))
        owed.numerator = sum - (result - whole) * a
        if owed.numerator * 2 >= a {
            result += 1
            owed.numerator -= a
        }
        return max(0, result)
    }

    private static func divisor(_ a: Int, _ b: Int) -> Int {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return a
    }
}
