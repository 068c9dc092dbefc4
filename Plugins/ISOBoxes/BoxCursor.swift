package import ImageModel

/// One box: its type and the position of its payload.
///
///     | size 4 | type 4 | [size 8, if size = 1] | payload … |          size 0: up to the end
///
/// - Source: ISO/IEC 14496-12 section 4.2.
package struct Box {
    package let type: FourCC
    package let payload: Range<Int>
}

/// A bounds-checked cursor over bytes that are all present.
///
/// Reading past the end is damage, not missing input: the enclosing box has declared its size.
package struct BoxCursor {
    package let bytes: [UInt8]
    package private(set) var offset: Int
    package private(set) var end: Int

    package init(_ bytes: [UInt8], _ range: Range<Int>? = nil) {
        self.bytes = bytes
        offset = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
    }

    package var isAtEnd: Bool { offset >= end }
    package var remaining: Range<Int> { offset..<end }

    package mutating func uint(_ count: Int) throws(CoderError) -> UInt64 {
        guard count >= 0, count <= 8, end - offset >= count else { throw .corrupt("a box ends too early") }
        var value: UInt64 = 0
        for index in offset..<offset + count { value = value << 8 | UInt64(bytes[index]) }
        offset += count
        return value
    }

    package mutating func u8() throws(CoderError) -> Int { Int(try uint(1)) }
    package mutating func u16() throws(CoderError) -> Int { Int(try uint(2)) }
    package mutating func u32() throws(CoderError) -> UInt32 { UInt32(try uint(4)) }

    package mutating func skip(_ count: Int) throws(CoderError) {
        guard count >= 0, end - offset >= count else { throw .corrupt("a box ends too early") }
        offset += count
    }

    /// Reads the version and flags of a full box.
    package mutating func fullBox() throws(CoderError) -> (version: Int, flags: Int) {
        let word = Int(try u32())
        return (word >> 24, word & 0xFF_FFFF)
    }

    /// Returns the bytes up to the next zero and skips the zero; a missing zero at the end is accepted.
    package mutating func string() -> String {
        let stop = bytes[offset..<end].firstIndex(of: 0) ?? end
        let text = String(decoding: bytes[offset..<stop], as: UTF8.self)
        offset = min(end, stop + 1)
        return text
    }

    /// Reads the next box and moves behind it; nil at the end.
    package mutating func box() throws(CoderError) -> Box? {
        if isAtEnd { return nil }
        let start = offset
        var size = UInt64(try u32())
        let type = FourCC(try u32())
        if size == 1 { size = try uint(8) }
        if size == 0 { size = UInt64(end - start) }
        guard let length = Int(exactly: size), length >= offset - start, length <= end - start else {
            throw .corrupt("the box '\(type)' has an invalid size", at: nil)
        }
        let payload = offset..<start + length
        offset = payload.upperBound
        return Box(type: type, payload: payload)
    }

    package func inside(_ box: Box) -> BoxCursor { BoxCursor(bytes, box.payload) }
}
