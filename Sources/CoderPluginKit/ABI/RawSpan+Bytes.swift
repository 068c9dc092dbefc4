extension RawSpan {
    /// Returns the byte at `offset`, which must be within the span.
    @inlinable @inline(__always)
    public func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the four bytes from `offset` on, which must be within the span but need not be aligned.
    @inlinable @inline(__always)
    public func quad(at offset: Int) -> UInt32 {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
    }

    /// Returns the eight bytes from `offset` on, which must be within the span but need not be aligned.
    @inlinable @inline(__always)
    public func word(at offset: Int) -> UInt64 {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}

extension Span<UInt8> {
    /// Returns the four bytes from `offset` on, which must be within the span but need not be aligned.
    @inlinable @inline(__always)
    public func quad(at offset: Int) -> UInt32 { unsafe bytes.quad(at: offset) }
}

extension MutableRawSpan {
    /// Copies all bytes of a span to the place `offset`; all must be within this span.
    public mutating func copy(_ source: RawSpan, toByteOffset offset: Int) {
        precondition(offset >= 0 && source.byteCount <= byteCount - offset)
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                guard let from = source.baseAddress, let to = target.baseAddress else { return }
                unsafe (to + offset).copyMemory(from: from, byteCount: source.count)
            }
        }
    }

    /// Copies all bytes of a span to the place `offset`; all must be within this span.
    public mutating func copy(_ source: Span<UInt8>, toByteOffset offset: Int) {
        unsafe copy(source.bytes, toByteOffset: offset)
    }
}

extension MutableSpan<UInt8> {
    /// Copies all bytes of a span to the place `offset`; all must be within this span.
    public mutating func copy(_ source: RawSpan, toByteOffset offset: Int) {
        var bytes = unsafe mutableBytes
        bytes.copy(source, toByteOffset: offset)
    }

    /// Stores the bytes of a native number from `offset` on; all must be within this span.
    @inlinable @inline(__always)
    public mutating func storeBytes<Number: FixedWidthInteger & BitwiseCopyable>(
        of number: Number, toByteOffset offset: Int
    ) {
        var bytes = unsafe mutableBytes
        bytes.storeBytes(of: number, toByteOffset: offset, as: Number.self)
    }
}
