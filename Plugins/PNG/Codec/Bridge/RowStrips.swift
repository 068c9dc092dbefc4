internal import CoderPluginKit
internal import ImageModel

/// Compresses the rows of a still in strips, separately and on the host's threads.
///
/// A strip depends only on the image and the options. So the bytes are the same for any number of threads, and for an
/// image that arrives as a whole or in bands. A strip cannot refer to bytes of the strip before: of two mebibytes this
/// affects 32 KiB.
@safe final class RowStrips {
    /// The parameters that all strips share.
    struct Layout {
        var size: PixelSize
        var format: PixelFormat
        var choice: SampleChooser.Choice
        /// The bytes of a filtered row.
        var bytesPerRow: Int { choice.layout.bytesPerRow(width: size.width) }
        /// The number of strips; all except the last have the same height.
        var rowsPerStrip: Int {
            let bytes = size.height.multipliedReportingOverflow(by: bytesPerRow)
            if bytes.overflow { return 1 }
            let count = (bytes.partialValue + RowStrips.bytesPerStrip - 1) / RowStrips.bytesPerStrip
            return count > size.height ? 1 : (size.height + count - 1) / count
        }
        var count: Int { (size.height + rowsPerStrip - 1) / rowsPerStrip }
    }

    /// The approximate bytes of filtered rows in a strip.
    private static let bytesPerStrip = 2 << 20

    let rowsPerStrip: Int
    private let layout: Layout
    private let effort: RowCompressor.Effort
    private let host: HostServices
    private let sink: ByteSink
    /// The number of strips that are compressed at the same time.
    private var lanes: [RowCompressor] = []
    private var rowsDone = 0
    private var checksum: UInt32 = 1
    /// The last row of the band before.
    private var above: [UInt8] = []

    /// - Parameter lanes: the number of strips in memory at the same time.
    init(
        _ layout: Layout, _ effort: RowCompressor.Effort, lanes count: Int, _ host: HostServices, to sink: ByteSink
    ) throws(CoderError) {
        self.layout = layout
        self.effort = effort
        self.host = host
        self.sink = sink
        rowsPerStrip = layout.rowsPerStrip
        for _ in 0..<count { lanes.append(try RowCompressor()) }
    }

    /// Whether all rows are written.
    var isComplete: Bool { rowsDone == layout.size.height }

    /// Writes further rows: whole strips, or the rest.
    func write(_ surface: borrowing Surface) throws(CoderError) {
        let height = surface.size.height
        guard surface.size.width == layout.size.width, surface.format == layout.format,
            height <= layout.size.height - rowsDone,
            height == layout.size.height - rowsDone || height.isMultiple(of: rowsPerStrip)
        else { throw CoderError(.misuse, "the rows do not fit the image") }
        let pixels = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        let stride = surface.stride
        var first = 0
        while first < height {
            let start = first
            let count = min(lanes.count, (height - first + rowsPerStrip - 1) / rowsPerStrip)
            try host.concurrently(count) { index, _ throws(CoderError) in
                let row = start + index * rowsPerStrip
                let strip = unsafe pixels + row * stride
                try unsafe compress(
                    strip, stride, rows: min(rowsPerStrip, height - row), at: rowsDone + row - start,
                    hasRowsBefore: row > 0, by: lanes[index])
            }
            for index in 0..<count {
                let rows = min(rowsPerStrip, height - first)
                try write(lanes[index], rows: rows)
                first += rows
            }
            host.progress(rowsDone, of: layout.size.height)
        }
        let last = unsafe UnsafeBufferPointer(
            start: pixels + (height - 1) * stride, count: layout.size.width * layout.format.bytesPerPixel)
        above = isComplete ? [] : unsafe Array(last)
    }

    /// Compresses one strip.
    ///
    /// - Parameter hasRowsBefore: whether the row above the first precedes it in memory.
    private func compress(
        _ pixels: UnsafePointer<UInt8>, _ stride: Int, rows: Int, at row: Int, hasRowsBefore: Bool,
        by compressor: RowCompressor
    ) throws(CoderError) {
        var effort = effort
        effort.total = rows * layout.bytesPerRow
        effort.part = part(at: row, rows: rows)
        try compressor.start(
            width: layout.size.width, format: layout.format, isOpaque: !layout.format.hasTransparency,
            layout: layout.choice.layout, palette: layout.choice.palette, effort: effort)
        if row > 0 {
            if hasRowsBefore {
                try unsafe compressor.setRowAbove(pixels - stride)
            } else {
                let status = unsafe above.withUnsafeBufferPointer { row -> CoderError? in
                    do throws(CoderError) {
                        try unsafe compressor.setRowAbove(row.baseAddress!)
                        return nil
                    } catch { return error }
                }
                if let status { throw status }
            }
        }
        for first in Swift.stride(from: 0, to: rows, by: 64) {
            try unsafe compressor.push(pixels + first * stride, stride: stride, count: min(64, rows - first))
        }
        try compressor.finish()
    }

    private func part(at row: Int, rows: Int) -> RowCompressor.Part {
        switch (row == 0, row + rows == layout.size.height) {
        case (true, true): .whole
        case (true, false): .first
        case (false, true): .last
        case (false, false): .middle
        }
    }

    /// Writes a compressed strip.
    private func write(_ compressor: RowCompressor, rows: Int) throws(CoderError) {
        let part = part(at: rowsDone, rows: rows)
        checksum = compressor.checksum(after: checksum, count: rows * layout.bytesPerRow)
        if part == .last { try compressor.seal(checksum) }
        try compressor.writeChunks("IDAT", to: sink, isLast: true)
        rowsDone += rows
    }
}
