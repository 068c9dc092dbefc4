internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Reads and writes rows of 8-bit RGB or RGBA as colors of a ``ColorTable``.
enum PaletteRows {
    /// Reads row `y`; pixels with alpha 0 become transparent.
    static func load(_ y: Int, of surface: borrowing Surface, into colors: inout [UInt32]) {
        let width = surface.size.width
        precondition(colors.count == width && surface.format.bits == 8)
        let channels = surface.format.channels
        let isOpaque: UInt32 = surface.format.hasTransparency ? 0 : 0xFF00_0000
        surface.withRow(y) { row in
            unsafe row.withUnsafeBytes { bytes in
                for x in 0..<width {
                    if channels == .rgba {
                        let pixel = unsafe bytes.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self).littleEndian
                        let color = pixel | isOpaque
                        colors[x] = color >> 24 == 0 ? ColorTable.transparent : color
                    } else {
                        let (red, green) = unsafe (UInt32(bytes[x * 3]), UInt32(bytes[x * 3 + 1]))
                        let blue = unsafe UInt32(bytes[x * 3 + 2])
                        colors[x] = red | green << 8 | blue << 16 | 0xFF00_0000
                    }
                }
            }
        }
    }

    /// Writes row `y`.
    static func store(_ colors: [UInt32], _ y: Int, in buffer: PixelBuffer) {
        let bytes = buffer.format.bytesPerPixel
        precondition(colors.count == buffer.size.width && buffer.format.bits == 8 && bytes >= 3)
        buffer.withMutableRow(y) { row in
            unsafe row.withUnsafeMutableBytes { target in
                for (x, color) in colors.enumerated() {
                    unsafe target[x * bytes] = UInt8(truncatingIfNeeded: color)
                    unsafe target[x * bytes + 1] = UInt8(truncatingIfNeeded: color >> 8)
                    unsafe target[x * bytes + 2] = UInt8(truncatingIfNeeded: color >> 16)
                    if bytes == 4 { unsafe target[x * 4 + 3] = UInt8(truncatingIfNeeded: color >> 24) }
                }
            }
        }
    }
}
