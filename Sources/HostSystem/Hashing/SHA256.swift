/// Computes the SHA-256 of bytes that arrive in pieces.
///
///     block of 64 bytes = W0 … W15 (big endian) → 64 rounds on a … h → added to the state
///
/// - Source: FIPS 180-4, sections 4.1.2, 5.1.1, 5.3.3 and 6.2.
package struct SHA256: Sendable {
    private var state = SIMD8<UInt32>(
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19)
    /// The number of bytes added so far.
    private var count: UInt64 = 0
    /// The start of an incomplete block, filled from the most significant byte of each word.
    private var pending = InlineArray<16, UInt32>(repeating: 0)
    private var pendingCount: Int { Int(count & 63) }

    package init() {}

    /// Adds bytes.
    package mutating func update(_ bytes: RawSpan) {
        var offset = 0
        while offset < bytes.byteCount, pendingCount > 0 {
            append(bytes.byte(at: offset))
            offset += 1
        }
        let end = offset + (bytes.byteCount - offset) & ~63
        count &+= UInt64(end - offset)
        while offset < end {
            var words = InlineArray<16, UInt32>(repeating: 0)
            for i in 0..<16 { words[i] = bytes.bigEndian(at: offset &+ i &* 4) }
            Self.compress(&words, into: &state)
            offset &+= 64
        }
        while offset < bytes.byteCount {
            append(bytes.byte(at: offset))
            offset += 1
        }
    }

    /// Adds bytes.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withSpan { update($0) }
    }

    /// Returns the 32-byte hash of all bytes added so far; more bytes may follow.
    package func finalize() -> [UInt8] {
        var last = self
        last.append(0x80)
        while last.pendingCount != 56 { last.append(0) }
        let bitCount = count &* 8
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            last.append(UInt8(truncatingIfNeeded: bitCount &>> shift))
        }
        return (0..<32).map { UInt8(truncatingIfNeeded: last.state[$0 / 4] &>> (24 - 8 * UInt32($0 % 4))) }
    }

    private mutating func append(_ byte: UInt8) {
        let place = pendingCount
        pending[place / 4] |= UInt32(byte) &<< (24 - 8 * UInt32(place % 4))
        count &+= 1
        guard place == 63 else { return }
        Self.compress(&pending, into: &state)
        pending = InlineArray(repeating: 0)
    }

    /// Formats `bytes` as lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the hash of `bytes` in lower-case hexadecimal digits, in the format of `sha256sum`.
    package static func hexDigest(of bytes: [UInt8]) -> String {
        var hash = SHA256()
        hash.update(bytes)
        return hex(hash.finalize())
    }
}

// MARK: The compression function

extension SHA256 {
    /// Adds a block, given as its words, to the state; overwrites the words.
    private static func compress(_ words: inout InlineArray<16, UInt32>, into state: inout SIMD8<UInt32>) {
        var rounds = Rounds(state)
        rounds.sixteen(from: 0, &words, expanding: false)
        for t in stride(from: 16, to: 64, by: 16) { rounds.sixteen(from: t, &words, expanding: true) }
        state &+= rounds.values
    }
}

/// The eight working variables of the compression function.
private struct Rounds {
    private var a, b, c, d, e, f, g, h: UInt32

    init(_ state: SIMD8<UInt32>) {
        (a, b, c, d) = (state[0], state[1], state[2], state[3])
        (e, f, g, h) = (state[4], state[5], state[6], state[7])
    }

    var values: SIMD8<UInt32> { SIMD8(a, b, c, d, e, f, g, h) }

    /// Performs sixteen rounds, after which each variable holds its own value again.
    ///
    /// The rounds are unrolled because the variables rotate: a loop would move eight values per round. Only the last
    /// sixteen words of the schedule are kept; no round uses older ones.
    @inline(__always)
    mutating func sixteen(from t: Int, _ w: inout InlineArray<16, UInt32>, expanding: Bool) {
        @inline(__always)
        func word(_ i: Int) -> UInt32 {
            if expanding { expand(&w, i) }
            return constants[t &+ i] &+ w[i]
        }
        round(a, b, c, &d, e, f, g, &h, word(0))
        round(h, a, b, &c, d, e, f, &g, word(1))
        round(g, h, a, &b, c, d, e, &f, word(2))
        round(f, g, h, &a, b, c, d, &e, word(3))
        round(e, f, g, &h, a, b, c, &d, word(4))
        round(d, e, f, &g, h, a, b, &c, word(5))
        round(c, d, e, &f, g, h, a, &b, word(6))
        round(b, c, d, &e, f, g, h, &a, word(7))
        round(a, b, c, &d, e, f, g, &h, word(8))
        round(h, a, b, &c, d, e, f, &g, word(9))
        round(g, h, a, &b, c, d, e, &f, word(10))
        round(f, g, h, &a, b, c, d, &e, word(11))
        round(e, f, g, &h, a, b, c, &d, word(12))
        round(d, e, f, &g, h, a, b, &c, word(13))
        round(c, d, e, &f, g, h, a, &b, word(14))
        round(b, c, d, &e, f, g, h, &a, word(15))
    }
}

@inline(__always)
private func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32,
    _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: inout UInt32, _ addend: UInt32
) {
    let choice = g ^ (e & (f ^ g))
    let majority = (a & b) ^ (c & (a ^ b))
    let first = h &+ (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) &+ choice &+ addend
    d &+= first
    h = first &+ (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ majority
}

/// Replaces the word of round t − 16 by the word of round t, where i = t mod 16.
@inline(__always)
private func expand(_ w: inout InlineArray<16, UInt32>, _ i: Int) {
    let early = w[(i &+ 1) & 15]
    let late = w[(i &+ 14) & 15]
    let earlyMix = rotate(early, 7) ^ rotate(early, 18) ^ early &>> 3
    let lateMix = rotate(late, 17) ^ rotate(late, 19) ^ late &>> 10
    w[i] = w[i] &+ earlyMix &+ w[(i &+ 9) & 15] &+ lateMix
}

@inline(__always)
private func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word &>> count | word &<< (32 &- count)
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
private let constants: InlineArray<64, UInt32> = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
    0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
    0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
    0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
    0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
    0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
    0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
]
