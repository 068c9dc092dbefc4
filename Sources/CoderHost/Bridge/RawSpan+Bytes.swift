extension RawSpan {
    /// The byte at `offset`, which must be within the span.
    @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The big-endian number at `offset`, all of which must be within the span.
    @inline(__always)
    package func bigEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        Number(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }

    /// The number at `offset` as this machine stores it, all of which must be within the span.
    @inline(__always)
    package func native<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    }
}

extension [UInt8] {
    /// Reads the bytes as a span, without copying them.
    @inline(__always)
    package func withSpan<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try body(unsafe span.bytes)
    }
}
