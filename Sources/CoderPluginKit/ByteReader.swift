public import ImageModel

/// A bounds-checked cursor over the input.
///
/// A read beyond the arrived bytes throws `.needsInput` while the source may grow, and `.truncated` once it is
/// complete. A straight-line parser therefore also works on a growing source.
public struct ByteReader {
    /// The source to read from.
    public let source: ByteSource
    /// The position in bytes from the start.
    public var offset: Int

    /// Creates a cursor at a position of a source.
    public init(_ source: ByteSource, at offset: Int = 0) {
        self.source = source
        self.offset = offset
    }

    /// Throws unless `count` more bytes have arrived.
    public func require(_ count: Int) throws(CoderError) {
        // A count computed from hostile bytes must not move the offset before the start.
        if count < 0 || offset < 0 { throw .corrupt("a length is negative", at: max(0, offset)) }
        let (end, overflow) = offset.addingReportingOverflow(count)
        if !overflow && source.has(end) { return }
        // The order matters: the last bytes may arrive between the two calls.
        let isComplete = source.isComplete
        if !overflow && source.has(end) { return }
        throw isComplete ? .truncated() : .needsInput
    }

    /// Skips `count` bytes, which must have arrived.
    public mutating func skip(_ count: Int) throws(CoderError) {
        try require(count)
        offset += count
    }

    /// Reads a byte.
    public mutating func u8() throws(CoderError) -> UInt8 {
        try require(1)
        defer { offset += 1 }
        return source[offset]
    }

    /// Reads a big-endian 16-bit number.
    public mutating func u16BE() throws(CoderError) -> UInt16 {
        try require(2)
        defer { offset += 2 }
        return UInt16(source[offset]) << 8 | UInt16(source[offset + 1])
    }

    /// Reads a big-endian 32-bit number.
    public mutating func u32BE() throws(CoderError) -> UInt32 {
        // Checked before reading, so that a suspension does not move the cursor.
        try require(4)
        return UInt32(try u16BE()) << 16 | UInt32(try u16BE())
    }

    /// Reads a little-endian 16-bit number.
    public mutating func u16LE() throws(CoderError) -> UInt16 { try u16BE().byteSwapped }
    /// Reads a little-endian 32-bit number.
    public mutating func u32LE() throws(CoderError) -> UInt32 { try u32BE().byteSwapped }

    /// Copies the next `count` bytes.
    public mutating func bytes(_ count: Int) throws(CoderError) -> [UInt8] {
        try require(count)
        defer { offset += count }
        return source.bytes(offset..<offset + count)
    }

    /// Consumes `expected`, or returns false and does not move the cursor; one different byte is enough for false.
    public mutating func consume(_ expected: [UInt8]) throws(CoderError) -> Bool {
        for (index, byte) in expected.enumerated() {
            try require(index + 1)
            if source[offset + index] != byte { return false }
        }
        offset += expected.count
        return true
    }
}
