internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Compresses bytes to a zlib stream, at libdeflate's highest level.
func deflated(_ bytes: [UInt8]) throws(CoderError) -> [UInt8] {
    var opened: OpaquePointer?
    guard unsafe pngshim_deflater_open(&opened) == PNGSHIM_OK, let deflater = unsafe opened else {
        throw CoderError(.outOfMemory, "not enough memory for the compressor")
    }
    defer { unsafe pngshim_deflater_close(deflater) }
    var effort = pngshim_effort(
        method: PNGSHIM_LIBDEFLATE, level: 12, filtered: 0, measured: 0, part: 0, total: UInt64(max(1, bytes.count)))
    var status = unsafe pngshim_deflater_start(deflater, &effort)
    if status == PNGSHIM_OK {
        status = unsafe bytes.withUnsafeBufferPointer {
            unsafe pngshim_deflater_push(deflater, $0.baseAddress, UInt64($0.count), 1)
        }
    }
    guard status == PNGSHIM_OK else {
        throw CoderError(.outOfMemory, "not enough memory to compress metadata", domain: "libdeflate")
    }
    var result: UnsafePointer<UInt8>?
    var count: UInt64 = 0
    unsafe pngshim_deflater_take(deflater, &result, &count)
    return unsafe Array(UnsafeBufferPointer(start: result, count: Int(count)))
}
