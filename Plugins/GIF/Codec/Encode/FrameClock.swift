internal import ImageModel

/// Converts exact durations to hundredths of a second, without a drift of their sum.
struct FrameClock {
    /// 2³² parts of a hundredth: rounding to these loses less than a millisecond in a million years of frames.
    private static let parts: Int128 = 1 << 32
    /// The maximum duration of a frame in hundredths: sixteen delays, each a frame in the file.
    static let longest = 16 * GIFOutput.longestDelay

    private var passed: Int128 = 0
    private var written: Int128 = 0
    /// Whether a duration was no whole number of hundredths.
    private(set) var isRounded = false
    /// Whether a duration was too long.
    private(set) var hasCut = false

    /// The shortest requested duration below two hundredths; most viewers show such a frame for ten.
    private(set) var tooShort: FrameDuration?

    /// Adds the duration of a frame.
    mutating func advance(by duration: FrameDuration) {
        guard duration.denominator > 0 else { return }
        let hundredths = Int128(duration.numerator) * 100
        let denominator = Int128(duration.denominator)
        guard hundredths <= Int128(Self.longest) * denominator else {
            hasCut = true
            passed += Int128(Self.longest) * Self.parts
            return
        }
        if hundredths < 2 * denominator, tooShort.map({ duration.milliseconds < $0.milliseconds }) ?? true {
            tooShort = duration
        }
        if hundredths % denominator != 0 { isRounded = true }
        passed += (hundredths * Self.parts * 2 + denominator) / (denominator * 2)
    }

    /// Returns the hundredths not used yet.
    mutating func take() -> Int {
        let now = (passed + Self.parts / 2) / Self.parts
        defer { written = now }
        return Int(clamping: now - written)
    }
}
