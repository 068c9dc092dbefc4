internal import CoderPluginKit

/// Unpacks the pixels of one frame: variable-length codes of up to 12 bits in blocks of up to 255 bytes.
///
/// - Source: GIF89a specification, appendix F.
struct LZWDecoder {
    /// How a call ended.
    enum Outcome {
        /// As many pixels as wanted are there.
        case filled
        /// The end code or the last block came.
        case ended
        /// The bytes end.
        case cut
        /// A code has no meaning.
        case invalid
    }

    /// Pixels that one code can stand for, at most.
    static let longestString = 4096

    private static let tableSize = 4096
    private static let none = 0xFFFF

    // A string is the string of its prefix and one more pixel.
    private var prefix = InlineArray<4096, UInt16>(repeating: 0)
    private var suffix = InlineArray<4096, UInt8>(repeating: 0)
    private var first = InlineArray<4096, UInt8>(repeating: 0)
    private var length = InlineArray<4096, UInt16>(repeating: 0)

    private let minimumCodeSize: Int
    private let clearCode: Int
    private var codeSize = 0
    private var nextCode = 0
    private var previous = LZWDecoder.none
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var position = 0
    private var blockEnd = 0

    /// Starts with codes for 2ⁿ colours; nil when n is none of 1 … 11.
    ///
    /// More than 8 makes no sense for pixels of 8 bits, but there are such files; 11 leaves codes of 12 bits.
    init?(minimumCodeSize: UInt8) {
        guard (1...11).contains(minimumCodeSize) else { return nil }
        self.minimumCodeSize = Int(minimumCodeSize)
        clearCode = 1 << Int(minimumCodeSize)
        for code in 0..<clearCode {
            suffix[code] = UInt8(truncatingIfNeeded: code)
            first[code] = UInt8(truncatingIfNeeded: code)
            length[code] = 1
        }
        clear()
    }

    private mutating func clear() {
        codeSize = minimumCodeSize + 1
        nextCode = clearCode + 2
        previous = Self.none
    }

    /// Appends pixels to `output`, of which `count` are there, until there are `wanted`; the last string may add up to
    /// ``longestString`` more.
    ///
    /// - Shape: `blocks` are the data blocks of the frame, the same in every call.
    mutating func fill(_ output: inout [UInt8], count: inout Int, wanted: Int, from blocks: RawSpan) -> Outcome {
        precondition(output.count >= wanted + Self.longestString)
        var output = output.mutableSpan
        while count < wanted {
            while bitCount < codeSize {
                if position == blockEnd {
                    if position >= blocks.byteCount { return .cut }
                    let size = Int(blocks.byte(at: position))
                    if size == 0 { return .ended }
                    position += 1
                    blockEnd = position + size
                }
                if position >= blocks.byteCount { return .cut }
                bits |= UInt32(blocks.byte(at: position)) << UInt32(bitCount)
                position += 1
                bitCount += 8
            }
            var code = Int(bits & (1 << UInt32(codeSize) - 1))
            bits >>= UInt32(codeSize)
            bitCount -= codeSize

            if code == clearCode {
                clear()
                continue
            }
            if code == clearCode + 1 { return .ended }
            if code < clearCode, code > 0xFF { return .invalid }
            if previous == Self.none {
                if code > clearCode { return .invalid }
            } else if code > nextCode || code == nextCode && nextCode == Self.tableSize {
                return .invalid
            } else if nextCode < Self.tableSize {
                // The new string: the previous one and the first pixel of this one, which may be the new one itself.
                prefix[nextCode] = UInt16(truncatingIfNeeded: previous)
                suffix[nextCode] = code == nextCode ? first[previous] : first[code]
                first[nextCode] = first[previous]
                length[nextCode] = length[previous] &+ 1
                nextCode += 1
                if nextCode == 1 << codeSize, codeSize < 12 { codeSize += 1 }
            }
            previous = code

            var place = count + Int(length[code])
            count = place
            while code > clearCode {
                place -= 1
                output[place] = suffix[code]
                code = Int(prefix[code])
            }
            output[place - 1] = suffix[code]
        }
        return .filled
    }
}
