internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// Memory that the library fills piece by piece, with the contents of a box or of a packed JPEG.
@safe final class FilledMemory {
    fileprivate let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ count: Int) {
        unsafe bytes = .allocate(capacity: max(1, count))
        unsafe bytes.initialize(repeating: 0)
    }

    deinit { unsafe bytes.deallocate() }

    /// Copies the bytes in front of the unused ones.
    func filled(unused: UInt64) -> [UInt8] {
        unsafe Array(bytes.prefix(bytes.count - min(bytes.count, Int(clamping: unused))))
    }
}

extension JXLStream {
    /// The four characters of the box at which the decoder stopped.
    func boxType() -> String {
        var type: (CChar, CChar, CChar, CChar) = (0, 0, 0, 0)
        return unsafe withUnsafeMutablePointer(to: &type) { place in
            unsafe place.withMemoryRebound(to: CChar.self, capacity: 4) { start in
                guard unsafe jxl_shim_box_type(decoder, start) == 0 else { return "" }
                return unsafe String(
                    decoding: UnsafeBufferPointer(start: start, count: 4).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
    }

    /// Lends memory for the contents of the box, until ``takeBox(_:)``.
    func lendBox(_ memory: FilledMemory) throws(CoderError) {
        guard unsafe jxl_shim_lend_box(decoder, memory.bytes.baseAddress, UInt64(memory.bytes.count)) == 0 else {
            throw CoderError(.pluginFault, "libjxl refuses memory for a box")
        }
    }

    /// Takes the memory back, and returns the contents.
    func takeBox(_ memory: FilledMemory) -> [UInt8] { unsafe memory.filled(unused: jxl_shim_take_box(decoder)) }

    /// Lends memory for the JPEG stream, until ``takeJPEG(_:)``.
    func lendJPEG(_ memory: FilledMemory) throws(CoderError) {
        guard unsafe jxl_shim_lend_jpeg(decoder, memory.bytes.baseAddress, UInt64(memory.bytes.count)) == 0 else {
            throw CoderError(.pluginFault, "libjxl refuses memory for a JPEG stream")
        }
    }

    /// Takes the memory back, and returns the piece of the stream.
    func takeJPEG(_ memory: FilledMemory) -> [UInt8] { unsafe memory.filled(unused: jxl_shim_take_jpeg(decoder)) }
}
