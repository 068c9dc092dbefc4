/// SplitMix64, so that a case can be reproduced from its number.
public struct Dice: RandomNumberGenerator {
    private var state: UInt64

    public init(_ seed: UInt64) { state = seed }

    /// Seeds a case of a run: two runs, or two cases of one run, are independent.
    public init(run: UInt64, number: Int) {
        var first = Dice(run)
        state = first.next() ^ UInt64(truncatingIfNeeded: number) &* 0xD134_2543_DE82_EF95
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns a number from 0 up to `count`; 0 if there is no choice.
    public mutating func below(_ count: Int) -> Int {
        count <= 1 ? 0 : Int(next() % UInt64(count))
    }

    /// Returns true once in `count` times.
    public mutating func once(in count: Int) -> Bool { below(count) == 0 }

    public mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }

    public mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for _ in 0..<max(0, count) { result.append(byte()) }
        return result
    }

    /// Returns a number typical of hostile files: small, at the limit of a type, or any other.
    public mutating func awkwardNumber() -> UInt32 {
        switch below(4) {
        case 0: UInt32(below(5))
        case 1: pick([0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x1_0000])
        case 2: pick([0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FFFE, 0x7FFF_FFF0, 0x00FF_FFFF])
        default: UInt32(truncatingIfNeeded: next())
        }
    }
}
