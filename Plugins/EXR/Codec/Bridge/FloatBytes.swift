/// Floats and their bytes.
enum FloatBytes {
    /// Returns the bytes of floats.
    static func bytes(_ floats: [Float]) -> [UInt8] { unsafe floats.withUnsafeBytes { unsafe Array($0) } }

    /// Returns `count` floats from byte `offset` on.
    static func floats(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> [Float] {
        precondition(offset >= 0 && count >= 0 && offset + 4 * count <= bytes.count)
        return unsafe bytes.withUnsafeBytes { bytes in
            (0..<count).map { unsafe bytes.loadUnaligned(fromByteOffset: offset + 4 * $0, as: Float.self) }
        }
    }
}
