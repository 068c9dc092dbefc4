internal import ImageModel

/// The colors of a palette image.
struct ColorMap {
    /// Whether a color needs more than 8 bits.
    let is16: Bool
    /// Whether the numbers are 0 to 255, as old writers store them.
    let isLow: Bool
    /// The colors of the pixel format, 3 or 6 bytes each.
    let table: [UInt8]
    var colorBytes: Int { is16 ? 6 : 3 }

    /// - Parameter map: all red numbers, then all green ones, then all blue ones.
    init(_ map: [UInt16]) {
        isLow = map.allSatisfy { $0 < 256 } && map.contains { $0 > 0 }
        // 8-bit colors are stored as n × 256 or n × 257.
        is16 = !isLow && !map.allSatisfy { $0 & 255 == 0 || $0 & 255 == $0 >> 8 }
        let count = map.count / 3
        var table: [UInt8] = []
        table.reserveCapacity(count * 6)
        for index in 0..<count {
            for channel in 0..<3 {
                let value = map[channel * count + index]
                if is16 {
                    table.append(UInt8(truncatingIfNeeded: value.littleEndian))
                    table.append(UInt8(truncatingIfNeeded: value.littleEndian >> 8))
                } else {
                    table.append(UInt8(truncatingIfNeeded: isLow ? value : value >> 8))
                }
            }
        }
        self.table = table
    }
}
