internal import ImageModel

/// Rows of 16-bit samples with the high byte first, as most formats store them.
extension Surface {
    /// Fills row `y` from samples with the high byte first; `bytes` must have the length of a row.
    public func writeRow(_ y: Int, bigEndian16 bytes: RawSpan) {
        precondition(format.bits == 16 && bytes.byteCount == bytesPerRow)
        withMutableRow(y) { row in
            unsafe row.withUnsafeMutableBytes { row in
                unsafe bytes.withUnsafeBytes { unsafe swapBytes($0, into: row) }
            }
        }
    }

    /// Copies row `y` to `bytes` with the high byte of every sample first; `bytes` gets the length of a row.
    public func readRow(_ y: Int, bigEndian16 bytes: inout [UInt8]) {
        precondition(format.bits == 16)
        if bytes.count != bytesPerRow { bytes = [UInt8](repeating: 0, count: bytesPerRow) }
        unsafe bytes.withUnsafeMutableBytes { bytes in
            withRow(y) { row in unsafe row.withUnsafeBytes { unsafe swapBytes($0, into: bytes) } }
        }
    }
}

/// Converts samples from or to big endian.
private func swapBytes(_ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
    guard let from = source.baseAddress, let to = target.baseAddress else { return }
    for offset in stride(from: 0, to: min(source.count, target.count) & ~1, by: 2) {
        let sample = unsafe UInt16(bigEndian: from.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        unsafe to.storeBytes(of: sample, toByteOffset: offset, as: UInt16.self)
    }
}
