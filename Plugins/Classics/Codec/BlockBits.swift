import CoderPluginKit
import ImageModel

/// The 128 bits of a block, read from the lowest.
struct BlockBits {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// Reads 16 bytes.
    init(_ bytes: RawSpan, at offset: Int) {
        (low, high) = (bytes.word(at: offset), bytes.word(at: offset + 8))
    }

    /// Removes up to 16 bits.
    @inline(__always)
    mutating func next(_ count: Int) -> Int {
        guard count > 0 else { return 0 }
        let value = low & (1 &<< UInt64(count) &- 1)
        low = low &>> UInt64(count) | high &<< UInt64(64 &- count)
        high &>>= UInt64(count)
        return Int(value)
    }
}
