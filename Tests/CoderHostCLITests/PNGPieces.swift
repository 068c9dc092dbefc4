import TestSupport

/// Parts of PNG files with metadata.
enum PNGPieces {
    /// Exif with an orientation, and with a location if `place` is set.
    static func exif(place: Bool) -> [UInt8] {
        let orientation: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        let end: [UInt8] = [0, 0, 0, 0]
        let start = Array("II".utf8) + [42, 0, 8, 0, 0, 0]
        if !place { return start + [1, 0] + orientation + end }
        let pointer: [UInt8] = [0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0]
        let north: [UInt8] = [1, 0, 1, 0, 2, 0, 2, 0, 0, 0, 0x4E, 0, 0, 0]
        return start + [2, 0] + orientation + pointer + end + north + end
    }

    static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        func bigEndian(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        var crc: UInt32 = .max
        for byte in Array(name.utf8) + data {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return bigEndian(UInt32(data.count)) + Array(name.utf8) + data + bigEndian(~crc)
    }

    /// A small image with chunks after its header.
    static func image(_ chunks: [[UInt8]]) -> [UInt8] {
        var bytes = Fixture.named("images/f.png").bytes
        bytes.insert(contentsOf: chunks.joined(), at: 33)
        return bytes
    }
}
