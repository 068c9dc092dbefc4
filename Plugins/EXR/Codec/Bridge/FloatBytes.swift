/// Floats and their bytes.
enum FloatBytes {
    /// Returns the bytes of floats.
    static func bytes(_ floats: [Float]) -> [UInt8] { unsafe floats.withUnsafeBytes { unsafe Array($0) } }

    /// Returns the bytes of the nearest halves, and whether one of them is cut off at the largest half.
    static func halves(_ floats: [Float]) -> (bytes: [UInt8], isCut: Bool) {
        var isCut = false
        let halves = floats.map { value in
            // The nearest half of 65,520 and above is infinity.
            guard abs(value) >= 65_520, value.isFinite else { return Float16(value) }
            isCut = true
            return value < 0 ? -Float16.greatestFiniteMagnitude : .greatestFiniteMagnitude
        }
        return (unsafe halves.withUnsafeBytes { unsafe Array($0) }, isCut)
    }

    /// Returns the floats of `count` halves from byte `offset` on.
    static func floats(ofHalves bytes: [UInt8], _ offset: Int, _ count: Int) -> [Float] {
        precondition(offset >= 0 && count >= 0 && offset + 2 * count <= bytes.count)
        return unsafe bytes.withUnsafeBytes { bytes in
            (0..<count).map { index in
                let bits = unsafe bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: UInt16.self)
                return Float(Float16(bitPattern: bits))
            }
        }
    }

    /// Returns `count` floats from byte `offset` on.
    static func floats(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> [Float] {
        precondition(offset >= 0 && count >= 0 && offset + 4 * count <= bytes.count)
        return unsafe bytes.withUnsafeBytes { bytes in
            (0..<count).map { unsafe bytes.loadUnaligned(fromByteOffset: offset + 4 * $0, as: Float.self) }
        }
    }
}
