import CoderHost
import Glibc
import ImageModel

extension PixelBuffer {
    /// Whether the unpadded rows equal these bytes.
    ///
    /// Fast in debug builds, and visible to the thread sanitizer as a read of every byte.
    func isSame(as packed: [UInt8]) -> Bool {
        let count = bytesPerRow
        guard packed.count == count * size.height else { return false }
        return unsafe packed.withUnsafeBytes { expected in
            (0..<size.height).allSatisfy { y in
                withRow(y) { row in
                    unsafe row.withUnsafeBytes { row in
                        unsafe memcmp(row.baseAddress!, expected.baseAddress! + y * count, count) == 0
                    }
                }
            }
        }
    }

    /// ``packed``, optimized for large images.
    var packedRows: [UInt8] {
        (0..<size.height).flatMap { y in withRow(y) { row in unsafe row.withUnsafeBytes { unsafe Array($0) } } }
    }

    /// Sets every byte.
    func fill(_ byte: UInt8) {
        unsafe withUnsafeMutableBytes { _ = unsafe $0.initializeMemory(as: UInt8.self, repeating: byte) }
    }
}
