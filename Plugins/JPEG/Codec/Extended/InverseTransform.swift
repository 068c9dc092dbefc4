/// The inverse DCT for samples of 12 bits: the integer transform of Loeffler, Ligtenberg and Moschytz.
///
/// The results equal those of libjpeg-turbo 3 with its default, `JDCT_ISLOW`, to the bit.
///
/// - Source: C. Loeffler, A. Ligtenberg, G. Moschytz: Practical Fast 1-D DCT Algorithms with 11 Multiplications, 1989.
enum InverseTransform {
    /// The bits behind the point of the constants.
    private static let constantBits = 13
    /// The bits behind the point between the two passes; samples of 12 bits leave room for one.
    private static let passBits = 1
    private static let middle = 2048
    private static let most = 4095

    /// Transforms the block at `start` into the samples at `target`, whose rows are `width` apart.
    static func transform(
        _ block: Span<Int16>, at start: Int, _ divisors: Span<Int32>, into samples: inout MutableSpan<UInt16>,
        at target: Int, width: Int
    ) {
        var work = InlineArray<64, Int32>(repeating: 0)
        for x in 0..<8 {
            let at = start + x
            let rest = block[at + 8] | block[at + 16] | block[at + 24] | block[at + 32] | block[at + 40]
            let first = Int(block[at]) &* Int(divisors[x])
            if rest | block[at + 48] | block[at + 56] == 0 {
                let mean = Int32(truncatingIfNeeded: first << passBits)
                for y in 0..<8 { work[8 &* y &+ x] = mean }
                continue
            }
            var line = Line()
            line.s0 = first
            line.s1 = Int(block[at + 8]) &* Int(divisors[x + 8])
            line.s2 = Int(block[at + 16]) &* Int(divisors[x + 16])
            line.s3 = Int(block[at + 24]) &* Int(divisors[x + 24])
            line.s4 = Int(block[at + 32]) &* Int(divisors[x + 32])
            line.s5 = Int(block[at + 40]) &* Int(divisors[x + 40])
            line.s6 = Int(block[at + 48]) &* Int(divisors[x + 48])
            line.s7 = Int(block[at + 56]) &* Int(divisors[x + 56])
            line.transform(dropping: constantBits - passBits)
            work[x] = Int32(truncatingIfNeeded: line.s0)
            work[x &+ 8] = Int32(truncatingIfNeeded: line.s1)
            work[x &+ 16] = Int32(truncatingIfNeeded: line.s2)
            work[x &+ 24] = Int32(truncatingIfNeeded: line.s3)
            work[x &+ 32] = Int32(truncatingIfNeeded: line.s4)
            work[x &+ 40] = Int32(truncatingIfNeeded: line.s5)
            work[x &+ 48] = Int32(truncatingIfNeeded: line.s6)
            work[x &+ 56] = Int32(truncatingIfNeeded: line.s7)
        }
        for y in 0..<8 {
            let (at, to) = (8 &* y, target + y * width)
            let rest = work[at &+ 1] | work[at &+ 2] | work[at &+ 3] | work[at &+ 4] | work[at &+ 5]
            if rest | work[at &+ 6] | work[at &+ 7] == 0 {
                let mean = sample((Int(work[at]) &+ 1 << (passBits + 2)) >> (passBits + 3))
                for x in 0..<8 { samples[to + x] = mean }
                continue
            }
            var line = Line()
            line.s0 = Int(work[at])
            line.s1 = Int(work[at &+ 1])
            line.s2 = Int(work[at &+ 2])
            line.s3 = Int(work[at &+ 3])
            line.s4 = Int(work[at &+ 4])
            line.s5 = Int(work[at &+ 5])
            line.s6 = Int(work[at &+ 6])
            line.s7 = Int(work[at &+ 7])
            line.transform(dropping: constantBits + passBits + 3)
            samples[to] = sample(line.s0)
            samples[to + 1] = sample(line.s1)
            samples[to + 2] = sample(line.s2)
            samples[to + 3] = sample(line.s3)
            samples[to + 4] = sample(line.s4)
            samples[to + 5] = sample(line.s5)
            samples[to + 6] = sample(line.s6)
            samples[to + 7] = sample(line.s7)
        }
    }

    /// Centers and limits a result; the library looks it up by its 14 low bits.
    @inline(__always)
    private static func sample(_ value: Int) -> UInt16 {
        let signed = (value << (Int.bitWidth - 14)) >> (Int.bitWidth - 14)
        return UInt16(truncatingIfNeeded: min(max(signed &+ middle, 0), most))
    }

    /// Eight coefficients, and then eight samples.
    private struct Line {
        var s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0

        /// The constants are products of √2 and of c(n) = cos(n π / 16), times 2¹³.
        @inline(__always)
        mutating func transform(dropping bits: Int) {
            // The even part: a rotation by 6 π / 16.
            let turned = (s2 &+ s6) &* 4433
            let evenLow = turned &- s6 &* 15_137
            let evenHigh = turned &+ s2 &* 6270
            let sum = (s0 &+ s4) << 13
            let difference = (s0 &- s4) << 13
            let (e0, e3) = (sum &+ evenHigh, sum &- evenHigh)
            let (e1, e2) = (difference &+ evenLow, difference &- evenLow)

            // The odd part.
            let all = (s7 &+ s3 &+ s5 &+ s1) &* 9633
            let outer = (s7 &+ s1) &* -7373
            let inner = (s5 &+ s3) &* -20_995
            let left = all &- (s7 &+ s3) &* 16_069
            let right = all &- (s5 &+ s1) &* 3196
            let o3 = s7 &* 2446 &+ outer &+ left
            let o2 = s5 &* 16_819 &+ inner &+ right
            let o1 = s3 &* 25_172 &+ inner &+ left
            let o0 = s1 &* 12_299 &+ outer &+ right

            let half = 1 << (bits - 1)
            s0 = (e0 &+ o0 &+ half) >> bits
            s7 = (e0 &- o0 &+ half) >> bits
            s1 = (e1 &+ o1 &+ half) >> bits
            s6 = (e1 &- o1 &+ half) >> bits
            s2 = (e2 &+ o2 &+ half) >> bits
            s5 = (e2 &- o2 &+ half) >> bits
            s3 = (e3 &+ o3 &+ half) >> bits
            s4 = (e3 &- o3 &+ half) >> bits
        }
    }
}
