package import CoderPluginKit
package import ImageModel
internal import PNGShim

/// Converts rows of pixels to the zlib stream of a PNG image.
@safe package final class RowCompressor {
    /// The format of the samples in the file.
    package struct Layout: Hashable {
        /// The bits of PNG 3rd edition, table 8: 1 palette, 2 color, 4 alpha.
        package var colorType: UInt8
        /// The bits of a sample, or of an index.
        package var depth: Int

        package init(colorType: UInt8, depth: Int) {
            self.colorType = colorType
            self.depth = depth
        }

        package var isIndexed: Bool { colorType & 1 != 0 }
        package var hasAlpha: Bool { colorType & 4 != 0 }
        package var channels: Int { isIndexed ? 1 : (colorType & 2 != 0 ? 3 : 1) + (hasAlpha ? 1 : 0) }
        /// Returns the bytes of a row of this many pixels, with its filter byte.
        package func bytesPerRow(width: Int) -> Int { 1 + (width * channels * depth + 7) / 8 }
    }

    /// The compressor.
    package enum Method: UInt8 {
        /// Levels 0 … 9.
        case zlib = 0
        /// Many times faster than zlib; levels 0 … 3.
        case isal = 1
        /// Several times faster than zlib at the same size, but needs the whole input at once; levels 1 … 12.
        case libdeflate = 2
    }

    /// The position of the rows in a stream.
    package enum Part: UInt8 {
        /// The whole stream.
        case whole = 0
        /// Parts are compressed separately and form one stream in order; a checksum follows the last part.
        case first = 1
        case middle = 2
        case last = 4
    }

    /// The compression effort.
    package struct Effort: Hashable {
        package var method: Method
        package var level: Int
        /// The allowed row filters, bit 0 for filter 0 and so on (PNG 3rd edition, 9.2).
        package var filters: UInt8
        /// Whether to compute only the length of the result.
        package var isTrial: Bool
        package var part = Part.whole
        /// For libdeflate: the bytes of all filtered rows of the stream or part.
        package var total = 0

        package init(_ method: Method, level: Int, filters: UInt8, isTrial: Bool = false) {
            self.method = method
            self.level = level
            self.filters = filters
            self.isTrial = isTrial
        }

        /// The memory for stored input and output; 0 if both pass through.
        package var memory: Int {
            var raw = unsafe raw
            return unsafe Int(clamping: pngshim_deflater_memory(&raw))
        }

        @unsafe
        fileprivate var raw: pngshim_effort {
            pngshim_effort(
                method: method.rawValue, level: UInt8(level), filtered: filters == 1 ? 0 : 1,
                measured: isTrial ? 1 : 0, part: part.rawValue, total: UInt64(total))
        }
    }

    private let deflater: OpaquePointer
    private let rows: OpaquePointer
    private var hasAlpha = false
    /// Kept alive until the last row.
    private var palette: GrowingPalette?

    package init() throws(CoderError) {
        var deflater: OpaquePointer?
        var rows: OpaquePointer?
        _ = unsafe pngshim_deflater_open(&deflater)
        _ = unsafe pngshim_rows_open(&rows)
        guard let deflater = unsafe deflater, let rows = unsafe rows else {
            unsafe pngshim_deflater_close(deflater)
            unsafe pngshim_rows_close(rows)
            throw CoderError(.outOfMemory, "not enough memory for the compressor")
        }
        unsafe self.deflater = deflater
        unsafe self.rows = rows
    }

    deinit {
        unsafe pngshim_rows_close(rows)
        unsafe pngshim_deflater_close(deflater)
    }

    /// Begins an image of rows of `width` pixels in `format`.
    ///
    /// - Parameter palette: must have all colors of the image if the file has indices.
    /// - Parameter isOpaque: treats every pixel as opaque, whatever its alpha.
    package func start(
        width: Int, format: PixelFormat, isOpaque: Bool, layout: Layout, palette: GrowingPalette?, effort: Effort
    ) throws(CoderError) {
        precondition(layout.isIndexed == (palette != nil) && effort.filters & 0x1F != 0)
        self.palette = palette
        hasAlpha = layout.hasAlpha || layout.isIndexed
        var rowLayout = pngshim_row_layout(
            width: UInt32(width), channels: UInt8(format.channels.count), sample_bytes: UInt8(format.bytesPerSample),
            file_channels: UInt8(layout.channels), narrow: !layout.isIndexed && layout.depth < format.bits ? 1 : 0,
            depth: layout.isIndexed ? UInt8(layout.depth) : 0, opaque: isOpaque ? 1 : 0, filters: effort.filters)
        var compression = unsafe effort.raw
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

    /// Begins a pass that writes only every `step`-th pixel of a row, from `first` on.
    package func beginPass(first: Int, step: Int) throws(CoderError) {
        try check(unsafe pngshim_rows_pass(rows, UInt32(first), UInt32(step)))
    }

    /// Sets the row above the first; it belongs to the part before.
    func setRowAbove(_ pixels: UnsafePointer<UInt8>) throws(CoderError) {
        try check(unsafe pngshim_rows_above(rows, pixels))
    }

    /// Adds rows that begin at `pixels`, `stride` bytes apart.
    func push(_ pixels: UnsafePointer<UInt8>, stride: Int, count: Int) throws(CoderError) {
        try check(unsafe pngshim_rows_push(rows, pixels, UInt64(stride), nil, 0, UInt32(count)))
    }

    /// Returns the checksum of a part, joined to that of the parts before it.
    ///
    /// - Parameter count: the bytes of the part's filtered rows.
    func checksum(after previous: UInt32, count: Int) -> UInt32 {
        unsafe pngshim_checksum_join(previous, pngshim_deflater_checksum(deflater), UInt64(count))
    }

    /// Ends a stream behind its last part.
    func seal(_ checksum: UInt32) throws(CoderError) { try check(unsafe pngshim_deflater_seal(deflater, checksum)) }

    /// Adds rows of the surface in order, `step` apart.
    package func push(
        _ surface: borrowing Surface, rows range: Range<Int>, step: Int
    ) throws(CoderError) {
        precondition(range.lowerBound >= 0 && range.upperBound <= surface.size.height && step > 0)
        let pixels = unsafe (surface.baseAddress + range.lowerBound * surface.stride)
            .assumingMemoryBound(to: UInt8.self)
        let count = UInt32((range.count + step - 1) / step)
        try check(unsafe pngshim_rows_push(rows, pixels, UInt64(surface.stride * step), nil, 0, count))
    }

    /// Adds rows of a part of the surface.
    ///
    /// - Parameter base: pixels that equal this canvas become transparent.
    package func push(
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

    package func finish() throws(CoderError) {
        try check(unsafe pngshim_rows_end(rows))
        palette = nil
    }

    /// The number of bytes of the stream so far.
    package var length: Int { Int(clamping: unsafe pngshim_deflater_length(deflater)) }

    /// The bytes since the last call.
    package func take() -> [UInt8] {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        unsafe pngshim_deflater_take(deflater, &bytes, &count)
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Writes the pending bytes as chunks, once there are more than a few, or at the end.
    package func writeChunks(_ name: String, to sink: ByteSink, isLast: Bool) throws(CoderError) {
        if !isLast, unsafe pngshim_deflater_waiting(deflater) < 1 << 16 { return }
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        unsafe pngshim_deflater_take(deflater, &bytes, &count)
        let all = unsafe UnsafeBufferPointer(start: bytes, count: Int(count))
        let type = Array(name.utf8)
        for first in stride(from: 0, to: all.count, by: 1 << 20) {
            let piece = unsafe UnsafeBufferPointer(rebasing: all[first..<min(first + 1 << 20, all.count)])
            let crc = unsafe pngshim_crc(chunkChecksum(type), piece.baseAddress, UInt64(piece.count))
            try sink.write(bigEndian(UInt32(piece.count)) + type)
            if let error = ByteSink.error(unsafe sink.write(piece)) { throw error }
            try sink.write(bigEndian(crc))
        }
    }

    private func check(_ status: Int32) throws(CoderError) {
        switch status {
        case PNGSHIM_OK: return
        case PNGSHIM_NO_MEMORY: throw CoderError(.outOfMemory, "not enough memory for the compressor")
        case PNGSHIM_REFUSED: throw CoderError(.misuse, "an image without transparency has transparent pixels")
        default: throw CoderError(.pluginFault, "the compressor failed", domain: "zlib")
        }
    }
}

/// Returns the CRC of a chunk's type and data.
///
/// - Source: PNG 3rd edition, 5.5.
package func chunkChecksum(_ bytes: [UInt8], after crc: UInt32 = 0) -> UInt32 {
    unsafe bytes.withUnsafeBufferPointer { unsafe pngshim_crc(crc, $0.baseAddress, UInt64($0.count)) }
}

/// Returns the four bytes of a number in a chunk.
package func bigEndian(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
