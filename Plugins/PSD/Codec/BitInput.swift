import CoderPluginKit
import ImageModel

/// Reads bits from the lowest of a byte up.
struct BitInput {
    private static let chunkBytes = 1 << 16

    private let source: ByteSource
    /// The position behind the chunk.
    private var next: Int
    private var chunk: [UInt8] = []
    private var place = 0
    /// The bits that were read and not taken; those behind the end of the input are 0.
    private(set) var held: UInt64 = 0
    private var count = 0
    private var countBehindEnd = 0

    init(_ source: ByteSource, at start: Int) { (self.source, next) = (source, start) }

    /// Whether bits behind the end of the input were taken.
    var isBehindEnd: Bool { countBehindEnd > count }

    /// Makes at least 57 bits available.
    mutating func fill() {
        while count <= 56 {
            if place == chunk.count, !load() {
                count += 8
                countBehindEnd += 8
                continue
            }
            held |= UInt64(chunk[place]) << UInt64(count)
            place += 1
            count += 8
        }
    }

    private mutating func load() -> Bool {
        let end = min(next + Self.chunkBytes, source.available)
        guard next < end else { return false }
        chunk = source.bytes(next..<end)
        (next, place) = (end, 0)
        return true
    }

    /// Takes at most 32 of the available bits.
    mutating func take(_ bits: Int) -> Int {
        let value = held & (1 << UInt64(bits) - 1)
        drop(bits)
        return Int(value)
    }

    mutating func drop(_ bits: Int) {
        held >>= UInt64(bits)
        count -= bits
    }

    /// Drops the rest of a byte.
    mutating func align() { drop(count % 8) }
}
