/// Packs the indices of one frame: the counterpart of ``LZWDecoder``.
///
/// - Source: GIF89a specification, appendix F.
struct LZWEncoder {
    private static let slots = 8192
    private static let free = UInt32.max

    /// Strings by prefix and pixel: the key in the upper 20 bits, the code in the lower 12.
    private var table = [UInt32](repeating: free, count: slots)
    private let minimumCodeSize: Int
    private let clearCode: Int
    private var codeSize = 0
    private var nextCode = 0
    private var prefix = -1
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var block: [UInt8] = []
    /// The code size and the data blocks so far.
    private(set) var bytes: [UInt8]

    /// Starts with codes for 2ⁿ colours, n from 2 (section 22) to 8.
    init(minimumCodeSize: Int) {
        precondition((2...8).contains(minimumCodeSize))
        self.minimumCodeSize = minimumCodeSize
        clearCode = 1 << minimumCodeSize
        bytes = [UInt8(minimumCodeSize)]
        clear()
    }

    private mutating func clear() {
        // Only the first time is there no code size to write it with.
        if codeSize == 0 { codeSize = minimumCodeSize + 1 }
        put(clearCode)
        codeSize = minimumCodeSize + 1
        nextCode = clearCode + 2
        for slot in 0..<Self.slots { table[slot] = Self.free }
    }

    /// Packs pixels, all of them below 2ⁿ.
    mutating func add(_ indices: Span<UInt8>) {
        for position in 0..<indices.count {
            let pixel = Int(indices[position])
            if prefix < 0 {
                prefix = pixel
                continue
            }
            let key = UInt32(truncatingIfNeeded: prefix << 8 | pixel)
            var slot = Int((key &* 0x9E37_79B9) >> 19)
            var found = Self.free
            while table[slot] != Self.free {
                if table[slot] >> 12 == key {
                    found = table[slot] & 0xFFF
                    break
                }
                slot = (slot + 1) & (Self.slots - 1)
            }
            if found != Self.free {
                prefix = Int(found)
                continue
            }
            put(prefix)
            if nextCode < 4096 {
                table[slot] = key << 12 | UInt32(nextCode)
                nextCode += 1
                // The decoder learns of a string one code later.
                if nextCode > 1 << codeSize, codeSize < 12 { codeSize += 1 }
            } else {
                clear()
            }
            prefix = pixel
        }
    }

    /// Writes what is left and the terminator, and returns everything.
    mutating func finish() -> [UInt8] {
        if prefix >= 0 {
            put(prefix)
            if nextCode == 1 << codeSize, codeSize < 12 { codeSize += 1 }
        }
        put(clearCode + 1)
        if bitCount > 0 { putByte(UInt8(truncatingIfNeeded: bits)) }
        flushBlock()
        bytes.append(0)
        return bytes
    }

    private mutating func put(_ code: Int) {
        bits |= UInt32(truncatingIfNeeded: code) << UInt32(bitCount)
        bitCount += codeSize
        while bitCount >= 8 {
            putByte(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }

    private mutating func putByte(_ byte: UInt8) {
        block.append(byte)
        if block.count == 255 { flushBlock() }
    }

    private mutating func flushBlock() {
        if block.isEmpty { return }
        bytes.append(UInt8(block.count))
        bytes += block
        block.removeAll(keepingCapacity: true)
    }
}
