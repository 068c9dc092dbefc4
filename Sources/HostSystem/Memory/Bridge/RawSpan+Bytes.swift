extension RawSpan {
    /// Returns the byte at `offset`, which must be inside the span.
    @inlinable @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the big-endian number at `offset`, which must be completely inside the span.
    @inlinable @inline(__always)
    package func bigEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        Number(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes as a span, without a copy.
    @inlinable @inline(__always)
    package func withSpan<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try body(unsafe span.bytes)
    }
}

/// Returns a copy of the bytes of a span.
package func copyBytes(_ span: RawSpan) -> [UInt8] {
    unsafe span.withUnsafeBytes { unsafe Array($0) }
}

/// Returns the bytes of a span with each pair swapped, for samples of the other byte order.
package func swappedPairs(_ span: RawSpan) -> [UInt8] {
    unsafe span.withUnsafeBytes { source in
        unsafe [UInt8](unsafeUninitializedCapacity: source.count) { target, count in
            unsafe swapPairs(source, UnsafeMutableRawBufferPointer(target))
            count = source.count
        }
    }
}

private func swapPairs(_ source: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer) {
    for at in stride(from: 0, to: source.count & ~1, by: 2) {
        let pair = unsafe source.loadUnaligned(fromByteOffset: at, as: UInt16.self)
        unsafe target.storeBytes(of: pair.byteSwapped, toByteOffset: at, as: UInt16.self)
    }
}

extension RawSpan {
    /// Returns the native-endian number at `offset`, which must be completely inside the span.
    @inlinable @inline(__always)
    package func native<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    }
}

extension MutableRawSpan {
    /// Sets the byte at an index, with a bounds check.
    @inlinable @inline(__always)
    package mutating func setByte(_ index: Int, _ value: UInt8) {
        precondition(index >= 0 && index < byteCount)
        unsafe storeBytes(of: value, toUncheckedByteOffset: index, as: UInt8.self)
    }

    /// Sets two bytes in native order, with a bounds check; `index` counts pairs.
    @inlinable @inline(__always)
    package mutating func setPair(_ index: Int, _ value: UInt16) {
        precondition(index >= 0 && index * 2 + 1 < byteCount)
        unsafe storeBytes(of: value, toUncheckedByteOffset: index * 2, as: UInt16.self)
    }

    /// Copies as many bytes as fit, from the start of both.
    package mutating func copy(_ source: RawSpan) {
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source.prefix(target.count)))
            }
        }
    }

    /// Copies bytes with each pair swapped.
    package mutating func copySwappingPairs(_ source: RawSpan) {
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                let count = min(target.count, source.count)
                unsafe swapPairs(
                    UnsafeRawBufferPointer(rebasing: source.prefix(count)),
                    UnsafeMutableRawBufferPointer(rebasing: target.prefix(count)))
            }
        }
    }
}

extension MutableRawSpan {
    package mutating func fillZero() {
        unsafe withUnsafeMutableBytes { _ = unsafe $0.initializeMemory(as: UInt8.self, repeating: 0) }
    }
}
