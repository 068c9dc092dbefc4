extension RawSpan {
    /// The byte at `offset`, which must be within the span.
    @inlinable @inline(__always)
    public func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}
