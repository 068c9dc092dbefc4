import ImageModel

extension Digest {
    /// Adds the rows without their padding.
    mutating func add(_ pixels: PixelBuffer) {
        for y in 0..<pixels.size.height {
            pixels.withRow(y) { row in
                var bytes: [UInt8] = []
                bytes.reserveCapacity(row.byteCount)
                for at in 0..<row.byteCount { bytes.append(unsafe row.unsafeLoad(fromByteOffset: at, as: UInt8.self)) }
                add(bytes)
            }
        }
    }
}
