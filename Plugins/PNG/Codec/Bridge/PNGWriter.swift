internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Writes the chunks in front of the pixels with libpng.
@safe final class PNGWriter {
    /// The fields of IHDR.
    struct Layout {
        var size: PixelSize
        var depth: Int
        /// The bits of PNG 3rd edition, table 8: 1 palette, 2 color, 4 alpha.
        var colorType: UInt8
        var isInterlaced: Bool
    }

    private let writer: OpaquePointer
    private let sink: ByteSink

    init(_ layout: Layout, to sink: ByteSink) throws(CoderError) {
        var raw = pngshim_layout(
            width: UInt32(layout.size.width), height: UInt32(layout.size.height), depth: UInt8(layout.depth),
            color_type: layout.colorType, interlaced: layout.isInterlaced ? 1 : 0)
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

    /// Embeds a profile; false if libpng rejects it for this image.
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

    /// Adds an entry; neither string may have a NUL.
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

    /// Writes all chunks up to the pixels.
    func finish() throws(CoderError) {
        try check(unsafe pngshim_writer_begin(writer))
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        unsafe pngshim_writer_take(writer, &bytes, &count)
        let status = unsafe sink.write(UnsafeBufferPointer(start: bytes, count: Int(count)))
        if let error = ByteSink.error(status) { throw error }
    }

    private func check(_ status: Int32) throws(CoderError) {
        if status == PNGSHIM_OK { return }
        let words = unsafe String(cString: pngshim_writer_message(writer))
        throw CoderError(.invalidArgument, "libpng refused to write: \(words)", domain: "libpng")
    }
}
