extension RawSpan {
    /// The byte at `offset`, which must be within the span.
    @inlinable @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The big-endian number at `offset`, all of which must be within the span.
    @inlinable @inline(__always)
    package func bigEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        Number(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }
}

extension [UInt8] {
    /// Reads the bytes as a span, without copying them.
    @inlinable @inline(__always)
    package func withSpan<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try body(unsafe span.bytes)
    }
}

/// Copies the bytes of a span.
package func copyBytes(_ span: RawSpan) -> [UInt8] {
    unsafe span.withUnsafeBytes { unsafe Array($0) }
}

/// The bytes of a span with every two exchanged, for samples of the other byte order.
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
    /// The number at `offset` as this machine stores it, all of which must be within the span.
    @inlinable @inline(__always)
    package func native<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    }
}

extension MutableRawSpan {
    /// Changes the byte at an index, checked.
    @inlinable @inline(__always)
    package mutating func setByte(_ index: Int, _ value: UInt8) {
        precondition(index >= 0 && index < byteCount)
        unsafe storeBytes(of: value, toUncheckedByteOffset: index, as: UInt8.self)
    }

    /// Changes two bytes in the machine's order, by index of pairs, checked.
    @inlinable @inline(__always)
    package mutating func setPair(_ index: Int, _ value: UInt16) {
        precondition(index >= 0 && index * 2 + 1 < byteCount)
        unsafe storeBytes(of: value, toUncheckedByteOffset: index * 2, as: UInt16.self)
    }

    /// Copies from the start as much as fits both.
    package mutating func copy(_ source: RawSpan) {
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source.prefix(target.count)))
            }
        }
    }

    /// Copies with every two bytes exchanged.
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
