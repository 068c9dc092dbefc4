/// A small file that requests many resources.
package struct Bomb: Sendable {
    /// The required result.
    package enum Fate: String, Sendable {
        /// `info` and `convert` refuse it.
        case refused
        /// The header is valid, so `info` may accept it; `convert` refuses it.
        case refusedWhenDecoded = "decoding refused"
        /// The excess is ignored or skipped; any cheap result is allowed.
        case cheap
    }

    package let name: String
    package let fate: Fate
    /// The limit in the error, if only one is correct.
    package let limit: String?
    package let bytes: @Sendable () -> [UInt8]

    init(
        _ name: String, _ fate: Fate = .refused, limit: String? = nil, _ bytes: @escaping @Sendable () -> [UInt8]
    ) {
        self.name = name
        self.fate = fate
        self.limit = limit
        self.bytes = bytes
    }

    package static let all =
        png + apng + gif + jpeg + webp + isoMedia + jpegXL + plain + tiff + classics + photoshop + openEXR
        + jpeg2000
}

// MARK: Parts of formats

/// Writes bits from the lowest of a byte up, as in deflate and VP8L.
struct BitWriter {
    private(set) var bytes: [UInt8] = []
    private var held: UInt64 = 0
    private var count = 0

    mutating func put(_ value: Int, _ width: Int) {
        held |= UInt64(value) << UInt64(count)
        count += width
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: held))
            held >>= 8
            count -= 8
        }
    }

    mutating func finish() -> [UInt8] {
        if count > 0 { bytes.append(UInt8(truncatingIfNeeded: held)) }
        (held, count) = (0, 0)
        return bytes
    }
}

/// A zlib stream of this many zeros (at least one), compressed to a thousandth.
///
/// - Source: RFC 1950; RFC 1951, 3.2.7 (a block with codes of its own: a repeat of 258 takes two bits).
func deflatedZeros(_ total: Int) -> [UInt8] {
    var bits = BitWriter()
    bits.put(0x9C78, 16)
    bits.put(1, 1)
    bits.put(2, 2)
    // 286 codes of literals and lengths, 1 of distances, 18 of code lengths: of these 1 and 2 have 3 bits, 0 has 2,
    // 18 (a run of zeros) has 1.
    bits.put(286 - 257, 5)
    bits.put(0, 5)
    bits.put(18 - 4, 4)
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1] {
        bits.put(symbol == 18 ? 1 : symbol == 0 ? 2 : symbol == 1 || symbol == 2 ? 3 : 0, 3)
    }
    func zeros(_ count: Int) {
        bits.put(0, 1)
        bits.put(count - 11, 7)
    }
    // Codes are written from their highest bit: 110 and 111 for 1 and 2, 10 for 0.
    let (one, two) = ((0b011, 3), (0b111, 3))
    bits.put(two.0, two.1)  // literal 0
    zeros(138)
    zeros(117)
    bits.put(two.0, two.1)  // 256, the end
    zeros(28)
    bits.put(one.0, one.1)  // 285: 258 times
    bits.put(one.0, one.1)  // distance 1
    // 285 is 0; literal 0 is 10; the end is 11. A distance takes one bit.
    var left = total
    bits.put(0b01, 2)
    left -= 1
    while left >= 258 {
        bits.put(0, 2)
        left -= 258
    }
    for _ in 0..<left { bits.put(0b01, 2) }
    bits.put(0b11, 2)
    // 1 + the bytes, and the sum of that many ones.
    let sum = (total % 65521) << 16 | 1
    return bits.finish() + .big(sum, 4)
}

/// - Source: PNG 3rd edition, 5.3 and annex D.
enum PNGParts {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { $0 >> 8 ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
    }

    static func chunk(_ kind: String, _ data: [UInt8] = []) -> [UInt8] {
        let body = Array(kind.utf8) + data
        return .big(data.count, 4) + body + .big(Int(checksum(body)), 4)
    }

    static func header(_ width: Int, _ height: Int, depth: Int = 8, color: Int = 2, interlaced: Bool = false) -> [UInt8]
    {
        signature
            + chunk(
                "IHDR",
                joined(.big(width, 4), .big(height, 4), [UInt8(depth), UInt8(color), 0, 0, interlaced ? 1 : 0]))
    }

    static func file(_ header: [UInt8], _ middle: [UInt8] = [], data: [UInt8]) -> [UInt8] {
        header + middle + chunk("IDAT", data) + chunk("IEND")
    }
}

/// - Source: ISO/IEC 14496-12, 4.2.
func box(_ kind: String, _ content: [UInt8]...) -> [UInt8] {
    let all = content.flatMap { $0 }
    return .big(all.count + 8, 4) + Array(kind.utf8) + all
}

func fullBox(_ kind: String, version: Int = 0, flags: Int = 0, _ content: [UInt8]...) -> [UInt8] {
    box(kind, [UInt8(version)] + .big(flags, 3) + content.flatMap { $0 })
}

/// A RIFF chunk, padded to an even length.
func riffChunk(_ kind: String, _ data: [UInt8]) -> [UInt8] {
    Array(kind.utf8) + .little(data.count, 4) + data + (data.count % 2 == 1 ? [0] : [])
}

func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count * count)
    for _ in 0..<count { result += bytes }
    return result
}

func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }
