internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// libpng's writer: takes rows, gives bytes to a sink.
@safe final class PNGWriter {
    /// What IHDR says, and how hard to work.
    struct Layout {
        var size: PixelSize
        var depth: Int
        /// The bits of PNG 3rd edition, table 8: 1 palette, 2 colour, 4 alpha.
        var colorType: UInt8
        var isInterlaced: Bool
        var level: Int
        var filters: UInt8
        /// Whether rows have an alpha sample that the file has not.
        var dropsAlpha: Bool
    }

    private let writer: OpaquePointer
    private let sink: ByteSink

    init(_ layout: Layout, to sink: ByteSink) throws(CoderError) {
        var raw = pngshim_layout(
            width: UInt32(layout.size.width), height: UInt32(layout.size.height), depth: UInt8(layout.depth),
            color_type: layout.colorType, interlaced: layout.isInterlaced ? 1 : 0, level: UInt8(layout.level),
            filters: layout.filters, drops_alpha: layout.dropsAlpha ? 1 : 0)
        var opened: OpaquePointer?
        let status = unsafe pngshim_writer_open(&raw, &opened)
        guard let opened = unsafe opened else {
            throw CoderError(.outOfMemory, "libpng could not be started", domain: "libpng")
        }
        unsafe writer = opened
        self.sink = sink
        try check(status)
    }

    deinit { unsafe pngshim_writer_close(writer) }

    /// Sets the palette; entries are RGBA, those that are not opaque first.
    func setPalette(_ rgba: [UInt8], transparent: Int) throws(CoderError) {
        try check(
            unsafe rgba.withUnsafeBufferPointer {
                unsafe pngshim_writer_palette(writer, $0.baseAddress, UInt32(rgba.count / 4), UInt32(transparent))
            })
    }

    /// Embeds a profile; false when libpng finds it unusable for this picture.
    func setProfile(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBufferPointer {
            unsafe pngshim_writer_profile(writer, $0.baseAddress, UInt64($0.count)) == PNGSHIM_OK
        }
    }

    func setExif(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBufferPointer {
            unsafe pngshim_writer_exif(writer, $0.baseAddress, UInt64($0.count)) == PNGSHIM_OK
        }
    }

    /// Adds an entry; neither string may hold a NUL.
    func addText(_ key: String, _ text: String, isUTF8: Bool, isCompressed: Bool) -> Bool {
        unsafe pngshim_writer_text(writer, key, text, isUTF8 ? 1 : 0, isCompressed ? 1 : 0) == PNGSHIM_OK
    }

    func setSRGB() -> Bool { unsafe pngshim_writer_srgb(writer) == PNGSHIM_OK }

    func setDensity(x: UInt32, y: UInt32, isMeter: Bool) -> Bool {
        unsafe pngshim_writer_density(writer, x, y, isMeter ? 1 : 0) == PNGSHIM_OK
    }

    /// Adds a chunk between IHDR and PLTE; `name` has four letters.
    func addChunk(_ name: String, _ bytes: [UInt8]) -> Bool {
        precondition(name.utf8.count == 4)
        return unsafe bytes.withUnsafeBufferPointer {
            unsafe pngshim_writer_chunk(writer, name, $0.baseAddress, UInt64($0.count)) == PNGSHIM_OK
        }
    }

    /// Writes everything up to the pixels and answers how often all rows have to be given.
    func begin() throws(CoderError) -> Int {
        var passes: UInt32 = 0
        try check(unsafe pngshim_writer_begin(writer, &passes))
        try drain()
        return Int(passes)
    }

    /// Writes rows of the surface.
    func write(rows: Range<Int>, of surface: borrowing Surface) throws(CoderError) {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= surface.size.height)
        let first = unsafe (surface.baseAddress + rows.lowerBound * surface.stride)
            .assumingMemoryBound(to: UInt8.self)
        try check(unsafe pngshim_writer_rows(writer, first, UInt64(surface.stride), UInt32(rows.count)))
        try drain()
    }

    /// Writes one row of palette indices, a byte each.
    func write(indices: [UInt8]) throws(CoderError) {
        try check(
            unsafe indices.withUnsafeBufferPointer { unsafe pngshim_writer_rows(writer, $0.baseAddress, 0, 1) })
        try drain()
    }

    func finish() throws(CoderError) {
        try check(unsafe pngshim_writer_end(writer))
        try drain()
    }

    private func check(_ status: Int32) throws(CoderError) {
        if status == PNGSHIM_OK { return }
        let words = unsafe String(cString: pngshim_writer_message(writer))
        throw CoderError(.invalidArgument, "libpng refused to write: \(words)", domain: "libpng")
    }

    private func drain() throws(CoderError) {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        unsafe pngshim_writer_take(writer, &bytes, &count)
        let status = unsafe sink.write(UnsafeBufferPointer(start: bytes, count: Int(count)))
        if let error = ByteSink.error(status) { throw error }
    }
}
