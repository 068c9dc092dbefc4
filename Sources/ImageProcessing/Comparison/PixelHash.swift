import HostSystem
package import ImageModel

/// A digest of the visible pixels of an image, independent of its file format.
///
/// SHA-256 over RGBA8 with straight alpha, row by row from the top, no padding; 16-bit samples keep their high byte,
/// color is 0 where alpha is 0; orientation and color profile are not applied.
package enum PixelHash {
    package static func hex(_ buffer: PixelBuffer) throws(CoderError) -> String {
        var hash = SHA256()
        let width = buffer.size.width
        let row = try RowConverter(
            from: buffer.format, to: .rgba8, background: RGBAColor(red: 0, green: 0, blue: 0))
        let line = try PixelBuffer(size: PixelSize(width, 1), format: .rgba8)
        let canBeClear = buffer.format.hasTransparency
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { source in
                line.withMutableRow(0) { target in
                    row.convert(source, &target, count: width)
                    if canBeClear {
                        for x in 0..<width where target.bytes.byte(at: x * 4 + 3) == 0 {
                            for channel in 0..<3 { target.setByte(x * 4 + channel, 0) }
                        }
                    }
                }
            }
            line.withRow(0) { hash.update($0) }
        }
        return SHA256.hex(hash.finalize())
    }
}
