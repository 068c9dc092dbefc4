extension RawSpan {
    /// Returns the byte at `offset`, which must be within the span.
    @inlinable @inline(__always)
    public func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns four bytes from `offset` on, which must be within the span but need not be aligned.
    @inline(__always)
    func quad(at offset: Int) -> UInt32 {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
    }

    /// Returns eight bytes from `offset` on, which must be within the span but need not be aligned.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}
