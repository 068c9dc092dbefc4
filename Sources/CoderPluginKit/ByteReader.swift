public import ImageModel

/// A bounds-checked cursor over the input.
///
/// Reading past what has arrived throws `.needsInput` while the source may grow and `.truncated` once it is complete,
/// so a parser written in a straight line works on a growing source too.
public struct ByteReader {
    public let source: ByteSource
    /// Bytes from the start.
    public var offset: Int

    public init(_ source: ByteSource, at offset: Int = 0) {
        self.source = source
        self.offset = offset
    }

    /// Throws unless `count` more bytes are there.
    public func require(_ count: Int) throws(CoderError) {
        // A count computed from hostile bytes must not become an offset before the start.
        if count < 0 || offset < 0 { throw .corrupt("a length is negative", at: max(0, offset)) }
        let (end, overflow) = offset.addingReportingOverflow(count)
        if !overflow && source.has(end) { return }
        // Asked in this order: the last bytes may arrive between the two questions.
        let isComplete = source.isComplete
        if !overflow && source.has(end) { return }
        throw isComplete ? .truncated() : .needsInput
    }

    public mutating func skip(_ count: Int) throws(CoderError) {
        try require(count)
        offset += count
    }

    public mutating func u8() throws(CoderError) -> UInt8 {
        try require(1)
        defer { offset += 1 }
        return source[offset]
    }

    public mutating func u16BE() throws(CoderError) -> UInt16 {
        try require(2)
        defer { offset += 2 }
        return UInt16(source[offset]) << 8 | UInt16(source[offset + 1])
    }

    public mutating func u32BE() throws(CoderError) -> UInt32 {
        // At once, so that a suspension leaves the cursor where it was.
        try require(4)
        return UInt32(try u16BE()) << 16 | UInt32(try u16BE())
    }

    public mutating func u16LE() throws(CoderError) -> UInt16 { try u16BE().byteSwapped }
    public mutating func u32LE() throws(CoderError) -> UInt32 { try u32BE().byteSwapped }

    /// Copies the next `count` bytes.
    public mutating func bytes(_ count: Int) throws(CoderError) -> [UInt8] {
        try require(count)
        defer { offset += count }
        return source.bytes(offset..<offset + count)
    }

    /// Consumes `expected`, or leaves the cursor alone and answers false; the first byte that differs is enough.
    public mutating func consume(_ expected: [UInt8]) throws(CoderError) -> Bool {
        for (index, byte) in expected.enumerated() {
            try require(index + 1)
            if source[offset + index] != byte { return false }
        }
        offset += expected.count
        return true
    }
}
