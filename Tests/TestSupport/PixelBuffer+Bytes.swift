import HostSystem
public import ImageModel
import ImageProcessing

extension PixelBuffer {
    /// The rows without padding.
    public var packed: [UInt8] {
        var all: [UInt8] = []
        for y in 0..<size.height {
            withRow(y) { row in for x in 0..<row.byteCount { all.append(row.byte(at: x)) } }
        }
        return all
    }

    /// Returns the bytes of one pixel.
    public func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        withRow(y) { row in (0..<format.bytesPerPixel).map { row.byte(at: x * format.bytesPerPixel + $0) } }
    }

    /// Creates a buffer filled with repeated bytes.
    public static func of(_ size: PixelSize, _ format: PixelFormat, _ bytes: [UInt8]) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for x in 0..<buffer.bytesPerRow {
                    let byte = bytes[(y * buffer.bytesPerRow + x) % bytes.count]
                    row.storeBytes(of: byte, toByteOffset: x, as: UInt8.self)
                }
            }
        }
        return buffer
    }
}
