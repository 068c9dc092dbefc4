internal import CoderPluginKit
internal import ImageModel
internal import TIFFShim

/// A file that libtiff reads.
@safe final class TIFFFile {
    static let library = "libtiff"

    private let file: OpaquePointer
    /// The bytes for a host that reads piece by piece.
    private let reader: Reader
    private let host: HostServices

    private final class Reader {
        let source: ByteSource
        init(_ source: ByteSource) { self.source = source }
    }

    /// Opens a complete source; its bytes are mapped if they are contiguous.
    ///
    /// - Throws: `.corrupt`.
    init(_ session: DecoderSession) throws(CoderError) {
        reader = Reader(session.source)
        host = session.host
        let mapped = unsafe session.source.isContiguous ? session.source.baseAddress : nil
        var source = unsafe tiff_shim_source(
            bytes: mapped, count: UInt64(session.source.available),
            read: { context, offset, target, count in
                let reader = unsafe Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue()
                let buffer = unsafe UnsafeMutableBufferPointer(start: target, count: Int(count))
                return unsafe UInt64((try? reader.source.read(at: Int(offset), into: buffer)) ?? 0)
            }, context: Unmanaged.passUnretained(reader).toOpaque())
        guard let file = unsafe tiff_shim_open(&source, Int64(session.limits.maxDecodedBytes)) else {
            throw .corrupt("the header of the file is damaged")
        }
        unsafe self.file = file
    }

    deinit { unsafe tiff_shim_close(file) }

    /// Reads the directory at a position, to which all later calls refer.
    ///
    /// - Throws: `.corrupt`.
    func select(_ offset: Int) throws(CoderError) -> Page {
        var facts = tiff_shim_page()
        let status = unsafe tiff_shim_select(file, UInt64(offset), &facts)
        if status != 0 { throw damage("the directory at byte \(offset) is damaged") }
        var page = Page()
        page.size = PixelSize(Int(facts.width), Int(facts.height))
        page.orientation = Orientation(rawValue: Int(facts.orientation))
        page.density = Page.density(facts.x_resolution, facts.y_resolution, unit: Int(facts.resolution_unit))
        page.storage = Page.Storage(
            isTiled: facts.is_tiled == 1, block: PixelSize(Int(facts.block_width), Int(facts.block_height)),
            blockCount: Int(facts.block_count), blockBytes: Int(clamping: facts.block_bytes),
            rowBytes: Int(clamping: facts.row_bytes), isPlanar: facts.planar == 2,
            compression: Int(facts.compression), isCodecMissing: facts.is_codec_missing == 1,
            needsConversion: facts.needs_rgba == 1)
        let extras = facts.extra
        let all = [extras.0, extras.1, extras.2, extras.3, extras.4, extras.5, extras.6, extras.7]
        page.meaning = Page.Meaning(
            bits: Int(facts.bits), samples: Int(facts.samples), sampleFormat: Int(facts.sample_format),
            photometric: Int(facts.photometric), inkSet: Int(facts.ink_set),
            extras: all.prefix(Int(facts.extra_count)).map { Int($0) }, isConverted: facts.is_converted == 1)
        return page
    }

    /// Passes the warnings of the library on, each once.
    func reportWarnings() {
        while let text = unsafe tiff_shim_next_warning(file) { unsafe host.warn("libtiff: \(String(cString: text))") }
    }

    /// The last message of the library.
    var message: String { unsafe String(cString: tiff_shim_error(file)) }

    private func damage(_ fallback: String) -> CoderError {
        let text = message
        var error = CoderError.corrupt(text.isEmpty ? fallback : "\(fallback): \(text)")
        error.domain = Self.library
        return error
    }

    // MARK: Pixels

    /// Decodes a block; returns false if it is damaged, and keeps what could be decoded.
    func read(block: Int, into target: inout [UInt8], count: Int) -> Bool {
        precondition(count <= target.count)
        return unsafe target.withUnsafeMutableBufferPointer {
            unsafe tiff_shim_read_block(file, UInt32(block), $0.baseAddress!, UInt64(count)) == 0
        }
    }

    /// Decodes a block into whole rows of a surface without padding.
    func read(block: Int, into surface: borrowing Surface, row: Int, rows: Int) -> Bool {
        precondition(surface.stride == surface.bytesPerRow && row >= 0 && row + rows <= surface.size.height)
        let start = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self) + row * surface.stride
        return unsafe tiff_shim_read_block(file, UInt32(block), start, UInt64(rows * surface.stride)) == 0
    }

    /// Decodes a block from coded bytes.
    func decode(_ coded: [UInt8], block: Int, into target: inout [UInt8], count: Int) -> Bool {
        precondition(count <= target.count)
        var coded = coded
        return unsafe target.withUnsafeMutableBufferPointer { target in
            unsafe coded.withUnsafeMutableBufferPointer {
                unsafe tiff_shim_decode_block(
                    file, UInt32(block), $0.baseAddress, UInt64($0.count), target.baseAddress!, UInt64(count)) == 0
            }
        }
    }

    /// Decodes one row; returns false if it is damaged.
    func read(row: Int, into target: inout [UInt8]) -> Bool {
        unsafe target.withUnsafeMutableBufferPointer {
            unsafe tiff_shim_read_row(file, UInt32(row), $0.baseAddress!, UInt64($0.count)) == 0
        }
    }

    /// Decodes a block to RGB; the first byte of an element is red.
    func readRGBA(block: Int, into target: inout [UInt32]) -> Bool {
        unsafe target.withUnsafeMutableBufferPointer {
            unsafe tiff_shim_read_rgba(file, UInt32(block), $0.baseAddress!, UInt64($0.count)) == 0
        }
    }

    /// Returns the position of the coded bytes of a block; nil if it overflows or is unknown.
    func place(of block: Int) -> Range<Int>? {
        var (offset, count) = (UInt64(0), UInt64(0))
        guard unsafe tiff_shim_place(file, UInt32(block), &offset, &count) == 0,
            let start = Int(exactly: offset), let length = Int(exactly: count)
        else { return nil }
        let (end, overflow) = start.addingReportingOverflow(length)
        return overflow ? nil : start..<end
    }

    /// Returns the color map, all red numbers first; nil if there is none.
    func colorMap(bits: Int) -> [UInt16]? {
        guard (1...16).contains(bits) else { return nil }
        var map = [UInt16](repeating: 0, count: 3 << bits)
        let status = unsafe map.withUnsafeMutableBufferPointer {
            unsafe tiff_shim_color_map(file, $0.baseAddress!, UInt32($0.count))
        }
        return status == 0 ? map : nil
    }

    /// The tables that the blocks of JPEG share.
    var jpegTables: [UInt8] {
        var count: UInt32 = 0
        guard let start = unsafe tiff_shim_jpeg_tables(file, &count) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
