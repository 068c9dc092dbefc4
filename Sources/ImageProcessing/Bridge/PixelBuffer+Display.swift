package import ImageModel

extension PixelBuffer {
    /// Returns the image ready for display: upright, RGBA8 with straight alpha; the buffer itself if nothing changes.
    ///
    /// - Throws: `.unsupportedFeature` for float samples, `.outOfMemory`.
    package func display(_ orientation: Orientation = .up) throws(CoderError) -> PixelBuffer {
        try PixelConverter.convert(try PixelConverter.upright(self, orientation), to: .rgba8)
    }

    /// Copies row `y` to the start of `target`, which must be large enough.
    package func copyRow(_ y: Int, into target: inout [UInt8]) {
        precondition(target.count >= bytesPerRow)
        withRow(y) { row in
            unsafe row.withUnsafeBytes { source in
                unsafe target.withUnsafeMutableBytes { unsafe $0.copyMemory(from: source) }
            }
        }
    }

    /// Fills row `y` from `source`, beginning at `offset`.
    package func setRow(_ y: Int, from source: [UInt8], at offset: Int) {
        precondition(offset >= 0 && source.count - offset >= bytesPerRow)
        withMutableRow(y) { row in
            unsafe row.withUnsafeMutableBytes { target in
                unsafe source.withUnsafeBytes { bytes in
                    unsafe target.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + target.count]))
                }
            }
        }
    }
}
