import CoderPluginKit
import ImageModel
import JPEGShim

/// One run of libjpeg-turbo over a source, from the first byte to the last row.
@safe final class JPEGDecompressor {
    /// The result of a call.
    enum Step {
        case done
        /// A slice of the work is done; more follows.
        case more
        case needsInput
        case truncated
    }

    /// The quality of a pass over the coefficients.
    enum Quality {
        /// The library's full quality, once all scans are in.
        case best
        /// Repeats chroma samples, which saves a quarter of the time.
        case plain
        /// Like `plain`, with a slightly inexact transform.
        case quick
        /// The means of blocks, interpolated; only at full size.
        case coarse
    }

    /// The facts of the frame header.
    struct Header {
        var size: PixelSize
        /// Nil for an undefined number of components.
        var native: PixelFormat?
        var components: Int
        var isMultiScan: Bool
        /// Whether the library cannot suspend in the middle of the data.
        var needsAllInput: Bool
        var density: PixelDensity?
        /// The memory for the coefficients of a multi-scan image, or of any image that is rewritten.
        var coefficientBytes: Int
        /// The distance in pixels between edges that are block edges of every component.
        var unit: PixelSize
    }

    /// The bytes of a file that are in memory at once, if the host only reads piece by piece.
    static let defaultWindow = 256 << 10

    private let source: ByteSource
    let decoder: OpaquePointer
    private let window: Int
    /// Whether the library gets a file of several scans as a whole.
    private let needsWhole: Bool
    /// Whether the library reads the source through a window.
    private var isReading = false
    /// The error of reading the source.
    private var failure: CoderError?
    /// The size of the output.
    private var size = PixelSize(0, 0)

    /// - Parameter needsWhole: whether scans are chosen, or shown while they arrive; otherwise the file is read once.
    /// - Throws: `.outOfMemory`.
    init(_ source: ByteSource, window: Int = defaultWindow, needsWhole: Bool = true) throws(CoderError) {
        guard let decoder = unsafe jpegs_decoder_new() else {
            throw CoderError(.outOfMemory, "not enough memory for a JPEG decoder", domain: JPEGLibrary.name)
        }
        self.source = source
        self.window = max(1, window)
        self.needsWhole = needsWhole
        unsafe self.decoder = decoder
    }

    deinit { unsafe jpegs_decoder_free(decoder) }

    /// Makes the library read a file that is not in memory; `lend` later provides the complete file if necessary.
    ///
    /// - Throws: `.outOfMemory`.
    private func beginReading() throws(CoderError) {
        guard !isReading, source.isComplete, !source.isContiguous else { return }
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let status = unsafe jpegs_decoder_read(
            decoder,
            { context, offset, bytes, count in
                // The library reads only while a method of this object runs.
                let decompressor = unsafe Unmanaged<JPEGDecompressor>.fromOpaque(context!).takeUnretainedValue()
                return unsafe decompressor.read(
                    at: Int(clamping: offset), into: UnsafeMutableBufferPointer(start: bytes, count: count))
            }, context, window)
        _ = try step(status)
        isReading = true
    }

    private func read(at offset: Int, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        do throws(CoderError) {
            return unsafe try source.read(at: offset, into: target)
        } catch {
            failure = error
            return 0
        }
    }

    /// Passes the available bytes to the library, unless it reads by itself.
    func lend() {
        if isReading { return }
        // Read first: a byte that arrives in between is found one call later.
        let complete = source.isComplete
        let available = source.available
        guard let bytes = unsafe source.baseAddress else { return }
        unsafe jpegs_decoder_input(decoder, bytes, available, complete ? 1 : 0)
    }

    /// Reads up to the first scan.
    ///
    /// The corresponding C function is `jpeg_read_header`.
    func readHeader() throws(CoderError) -> Header {
        try beginReading()
        lend()
        var info = jpegs_info()
        let status = unsafe jpegs_decoder_header(decoder, &info)
        if isReading, needsWhole, status == JPEGS_OK, info.multi_scan != 0 {
            isReading = false
            lend()
        }
        let side = Int(max(info.width, info.height))
        if status == JPEGS_UNSUPPORTED, side > JPEGLibrary.maxSide {
            throw .limit("a side for libjpeg-turbo of", allowed: JPEGLibrary.maxSide, requested: side)
        }
        if case .needsInput = try step(status) { throw .needsInput }
        return Header(
            size: PixelSize(Int(info.width), Int(info.height)), native: Self.native(info.color),
            components: Int(info.components), isMultiScan: info.multi_scan != 0,
            needsAllInput: info.arithmetic != 0,
            density: info.has_jfif != 0 ? Self.density(info) : nil,
            coefficientBytes: Int(clamping: info.coefficient_bytes),
            unit: PixelSize(Int(info.unit_width), Int(info.unit_height)))
    }

    /// Skips the scans that a reduced image does not need, if the input is complete.
    ///
    /// - Returns: the number of scans in the file (0: not counted), and whether some are skipped.
    func skim(_ format: PixelFormat, scale: Int) throws(CoderError) -> (scans: Int, leavesOut: Bool) {
        lend()
        var count: UInt32 = 0
        let status = unsafe jpegs_decoder_skim(decoder, JPEGLibrary.code(format), UInt32(scale), &count)
        if status < 0 { _ = try step(status) }
        return (Int(count), status == 1)
    }

    /// Sets format and reduction; may be called again after the start.
    ///
    /// The corresponding C function is `jpeg_start_decompress`.
    func start(_ format: PixelFormat, scale: Int) throws(CoderError) {
        lend()
        var width: UInt32 = 0
        var height: UInt32 = 0
        let code = JPEGLibrary.code(format)
        if case .needsInput = try step(
            unsafe jpegs_decoder_start(decoder, code, UInt32(scale), &width, &height))
        {
            throw .needsInput
        }
        size = PixelSize(Int(width), Int(height))
    }

    /// Reads a slice of a multi-scan image.
    ///
    /// The corresponding C function is `jpeg_consume_input`.
    func absorb() throws(CoderError) -> Step { try step(unsafe jpegs_decoder_absorb(decoder)) }

    /// The scan that is being read.
    var scan: JPEGScan {
        var raw = jpegs_scan()
        unsafe jpegs_decoder_scan(decoder, &raw)
        return JPEGScan(
            number: Int(raw.number), offset: Int(clamping: raw.offset), components: raw.components,
            band: Int(raw.first)...Int(max(raw.first, raw.last)), high: Int(raw.high), low: Int(raw.low))
    }

    /// Begins the output of the scans read so far.
    ///
    /// The corresponding C function is `jpeg_start_output`.
    func beginPass(_ quality: Quality, scale: Int, for surface: borrowing Surface) throws(CoderError) {
        let code =
            switch quality {
            case .best: JPEGS_BEST
            case .plain: JPEGS_PLAIN
            case .quick: JPEGS_QUICK
            case .coarse: JPEGS_COARSE
            }
        var width: UInt32 = 0
        var height: UInt32 = 0
        if case .needsInput = try step(
            unsafe jpegs_decoder_begin_pass(
                decoder, JPEGLibrary.code(surface.format), UInt32(scale), code, &width, &height))
        {
            throw CoderError(.misuse, "a complete scan asked for more input")
        }
        size = PixelSize(Int(width), Int(height))
    }

    /// The corresponding C function is `jpeg_finish_output`.
    func endPass() throws(CoderError) { _ = try step(unsafe jpegs_decoder_end_pass(decoder)) }

    /// Writes at most `count` rows from `row` on and advances it.
    ///
    /// - Shape: the surface holds rows of the pass from `top` on.
    ///
    /// The corresponding C function is `jpeg_read_scanlines`.
    func rows(
        into surface: borrowing Surface, top: Int = 0, row: inout Int, count: Int
    ) throws(CoderError) -> Step {
        let end = top + surface.size.height
        guard surface.size.width == size.width, end <= size.height, top <= row, row < end else {
            throw CoderError(.misuse, "the surface is \(surface.size), the image comes out as \(size)")
        }
        var next = UInt32(row)
        let pixels = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        let status = unsafe jpegs_decoder_rows(
            decoder, pixels, surface.stride, UInt32(top), &next, UInt32(min(count, end - row)))
        row = Int(next)
        return status == JPEGS_TRUNCATED && failure == nil ? .truncated : try step(status)
    }

    /// Limits the rows of a pass, or of a single-scan image, to `part`; a single-scan image then has no other rows.
    ///
    /// The corresponding C functions are `jpeg_crop_scanline` and `jpeg_skip_scanlines`.
    func beginPart(_ part: PixelRect) throws(CoderError) {
        guard !part.isEmpty, PixelRect(size).contains(part) else {
            throw CoderError(.misuse, "the part \(part) is not within \(size)")
        }
        var raw = jpegs_part(
            x: UInt32(part.x), y: UInt32(part.y), width: UInt32(part.width), height: UInt32(part.height))
        _ = try step(unsafe jpegs_decoder_part(decoder, &raw))
    }

    /// Decodes a slice of the part and advances `row`, the first missing row.
    ///
    /// - Shape: the surface has the size of the part.
    func partRows(into surface: borrowing Surface, row: inout Int) throws(CoderError) -> Step {
        var next = UInt32(row)
        let pixels = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        let status = unsafe jpegs_decoder_part_rows(decoder, pixels, surface.stride, &next)
        row = Int(next)
        return status == JPEGS_TRUNCATED && failure == nil ? .truncated : try step(status)
    }

    /// Whether the input ended early and part of the image is missing.
    var isTruncated: Bool { unsafe jpegs_decoder_is_truncated(decoder) != 0 }

    /// The first warning of the library and the number of warnings; nil if there is none.
    var warning: String? {
        let count = unsafe jpegs_decoder_warning_count(decoder)
        guard count > 0 else { return nil }
        let text = unsafe String(cString: jpegs_decoder_warning(decoder))
        return count == 1 ? text : "\(text) (and \(count - 1) more)"
    }

    func step(_ status: Int32) throws(CoderError) -> Step {
        // For the library the file ends there.
        if let failure { throw failure }
        switch status {
        case JPEGS_OK: return .done
        case JPEGS_MORE: return .more
        case JPEGS_NEEDS_INPUT: return .needsInput
        default: throw JPEGLibrary.error(status, unsafe String(cString: jpegs_decoder_message(decoder)))
        }
    }

    private static func native(_ color: UInt32) -> PixelFormat? {
        switch color {
        case JPEGS_GRAY: .gray8
        case JPEGS_RGB: .rgb8
        case JPEGS_CMYK: .cmyk8
        default: nil
        }
    }

    /// - Source: JFIF 1.02, "units", "Xdensity", "Ydensity".
    private static func density(_ info: jpegs_info) -> PixelDensity? {
        let (x, y) = (info.density_x, info.density_y)
        if x == 0 || y == 0 { return nil }
        return switch info.density_unit {
        case 0: .aspect(x: x, y: y)
        case 1: .perMeter(x: JPEGLibrary.perMeter(inch: x), y: JPEGLibrary.perMeter(inch: y))
        case 2: .perMeter(x: x * 100, y: y * 100)
        default: nil
        }
    }
}
