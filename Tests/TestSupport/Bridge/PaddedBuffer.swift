import HostSystem
public import ImageModel
import ImageProcessing

extension PixelBuffer {
    /// The bytes in the padding of ``padded(_:by:)``.
    private static let paddingByte: UInt8 = 0xA5

    /// Returns the same pixels with padding between the rows.
    public static func padded(_ buffer: PixelBuffer, by padding: Int) -> PixelBuffer {
        let stride = buffer.bytesPerRow + padding
        let count = stride * buffer.size.height
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 64)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: paddingByte, count: count)
        let result = unsafe PixelBuffer(
            size: buffer.size, format: buffer.format, stride: stride, memory: memory, byteCount: count
        ) { memory, _ in unsafe memory.deallocate() }
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { row in
                result.withMutableRow(y) { copy in
                    for x in 0..<row.byteCount { copy.storeBytes(of: row.byte(at: x), toByteOffset: x, as: UInt8.self) }
                }
            }
        }
        return result
    }
}
