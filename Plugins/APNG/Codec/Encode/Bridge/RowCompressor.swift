internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Turns rows of pixels into the zlib stream of a PNG picture.
@safe final class RowCompressor {
    /// What the samples of the file look like.
    struct Layout: Hashable {
        /// The bits of PNG 3rd edition, table 8: 1 palette, 2 colour, 4 alpha.
        var colorType: UInt8
        /// Bits of a sample, or of an index.
        var depth: Int

        var isIndexed: Bool { colorType & 1 != 0 }
        var hasAlpha: Bool { colorType & 4 != 0 }
        var channels: Int { isIndexed ? 1 : (colorType & 2 != 0 ? 3 : 1) + (hasAlpha ? 1 : 0) }
    }

    /// How hard to work.
    struct Effort: Hashable {
        /// Compresses with ISA-L, which is many times faster than zlib; the level is 0 … 3 then, otherwise 0 … 9.
        var isFast: Bool
        var level: Int
        /// The row filters to choose from, bit 0 for number 0 and so on (PNG 3rd edition, 9.2).
        var filters: UInt8
        /// Whether only the length of the result is wanted.
        var isTrial = false
    }

    private let deflater: OpaquePointer
    private let rows: OpaquePointer
    private var hasAlpha = false
    /// Kept alive until the last row.
    private var palette: GrowingPalette?

    init() throws(CoderError) {
        var deflater: OpaquePointer?
        var rows: OpaquePointer?
        _ = unsafe pngshim_deflater_open(&deflater)
        _ = unsafe pngshim_rows_open(&rows)
        guard let deflater = unsafe deflater, let rows = unsafe rows else {
            unsafe pngshim_deflater_close(deflater)
            unsafe pngshim_rows_close(rows)
            throw CoderError(.outOfMemory, "there is no memory for the compressor")
        }
        unsafe self.deflater = deflater
        unsafe self.rows = rows
    }

    deinit {
        unsafe pngshim_rows_close(rows)
        unsafe pngshim_deflater_close(deflater)
    }

    /// Begins a picture of rows of `width` pixels in `format`.
    ///
    /// - Parameter palette: has all colours that will come where the file has indices.
    /// - Parameter isOpaque: alpha is full, whatever its samples say.
    func start(
        width: Int, format: PixelFormat, isOpaque: Bool, layout: Layout, palette: GrowingPalette?, effort: Effort
    ) throws(CoderError) {
        precondition(layout.isIndexed == (palette != nil) && effort.filters & 0x1F != 0)
        self.palette = palette
        hasAlpha = layout.hasAlpha || layout.isIndexed
        var rowLayout = pngshim_row_layout(
            width: UInt32(width), channels: UInt8(format.channels.count), sample_bytes: UInt8(format.bytesPerSample),
            file_channels: UInt8(layout.channels), depth: layout.isIndexed ? UInt8(layout.depth) : 0,
            opaque: isOpaque ? 1 : 0, filters: effort.filters)
        var compression = pngshim_effort(
            isal: effort.isFast ? 1 : 0, level: UInt8(effort.level), filtered: effort.filters == 1 ? 0 : 1,
            measured: effort.isTrial ? 1 : 0)
        let status =
            if let palette {
                unsafe palette.withPointer {
                    unsafe pngshim_rows_start(rows, &rowLayout, $0, deflater, &compression)
                }
            } else {
                unsafe pngshim_rows_start(rows, &rowLayout, nil, deflater, &compression)
            }
        try check(status)
    }

    /// Adds rows of a part of the surface.
    ///
    /// - Parameter base: pixels that are the same there become transparent.
    func push(
        _ surface: borrowing Surface, x: Int, rows range: Range<Int>, base: PixelBuffer?
    ) throws(CoderError) {
        precondition(x >= 0 && range.lowerBound >= 0 && range.upperBound <= surface.size.height)
        let offset = x * surface.format.bytesPerPixel
        let pixels = unsafe (surface.baseAddress + range.lowerBound * surface.stride + offset)
            .assumingMemoryBound(to: UInt8.self)
        let stride = UInt64(surface.stride)
        let count = UInt32(range.count)
        guard let base else {
            return try check(unsafe pngshim_rows_push(rows, pixels, stride, nil, 0, count))
        }
        precondition(hasAlpha && base.size == surface.size)
        precondition(base.format.bytesPerPixel == surface.format.bytesPerPixel)
        let status = unsafe base.withUnsafeMutableBytes { bytes in
            let old = unsafe (bytes.baseAddress! + range.lowerBound * base.stride + offset)
                .assumingMemoryBound(to: UInt8.self)
            return unsafe pngshim_rows_push(rows, pixels, stride, old, UInt64(base.stride), count)
        }
        try check(status)
    }

    func finish() throws(CoderError) {
        try check(unsafe pngshim_rows_end(rows))
        palette = nil
    }

    /// Bytes of the stream so far.
    var length: Int { Int(clamping: unsafe pngshim_deflater_length(deflater)) }

    /// The bytes since the last call.
    func take() -> [UInt8] {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        unsafe pngshim_deflater_take(deflater, &bytes, &count)
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    private func check(_ status: Int32) throws(CoderError) {
        switch status {
        case PNGSHIM_OK: return
        case PNGSHIM_NO_MEMORY: throw CoderError(.outOfMemory, "there is no memory for the compressor")
        case PNGSHIM_REFUSED: throw CoderError(.misuse, "a picture without transparency has transparent pixels")
        default: throw CoderError(.pluginFault, "the compressor failed", domain: "zlib")
        }
    }
}

/// The CRC of a chunk's type and data.
///
/// - Source: PNG 3rd edition, 5.5.
func chunkChecksum(_ bytes: [UInt8], after crc: UInt32 = 0) -> UInt32 {
    unsafe bytes.withUnsafeBufferPointer { unsafe pngshim_crc(crc, $0.baseAddress, UInt64($0.count)) }
}
