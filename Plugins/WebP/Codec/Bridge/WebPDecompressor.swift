package import CoderPluginKit
package import ImageModel
import WebPShim

/// One run of libwebp's incremental decoder into a surface.
///
/// - Ownership: the library keeps the address of the pixels; the caller must pass the surface of the first call to the
///   next one.
@safe package final class WebPDecompressor {
    private let decoder: OpaquePointer
    private let pixels: UnsafeMutableRawPointer
    private let output: Output
    /// The number of complete output rows.
    package private(set) var rows = 0

    /// The address of the pixels, and whether alpha is set to its maximum.
    @safe private struct Output {
        let start: UnsafeMutablePointer<UInt8>
        let stride: Int
        let width: Int
        let fillsAlpha: Bool

        /// RFC 9649 section 3.4: the alpha bit of lossless data is a hint. Data without that bit may still have
        /// transparent pixels, for example behind the end of the color table; the header has declared them opaque.
        func fillAlpha(rows: Range<Int>) {
            guard fillsAlpha, !rows.isEmpty else { return }
            unsafe webps_make_opaque(start + rows.lowerBound * stride, stride, UInt32(width), UInt32(rows.count))
        }
    }

    /// Prepares to fill `rect` of the surface, scaling the image if `scales` is set.
    ///
    /// - Parameter isOpaque: whether the header declares that every pixel is opaque.
    /// - Throws: `.outOfMemory`.
    ///
    /// The corresponding C function is `WebPIDecode`.
    package init(
        into surface: borrowing Surface, rect: PixelRect, isOpaque: Bool, scales: Bool, threads: Bool
    ) throws(CoderError) {
        precondition(!rect.isEmpty && PixelRect(surface.size).contains(rect))
        let offset = rect.y * surface.stride + rect.x * surface.format.bytesPerPixel
        let start = unsafe (surface.baseAddress + offset).assumingMemoryBound(to: UInt8.self)
        guard
            let decoder = unsafe webps_decoder_new(
                Self.code(surface.format), start, surface.stride, UInt32(rect.width), UInt32(rect.height),
                scales ? 1 : 0, threads ? 1 : 0)
        else { throw WebPLibrary.error(WEBPS_NO_MEMORY) }
        unsafe self.decoder = decoder
        unsafe pixels = surface.baseAddress
        unsafe output = Output(
            start: start, stride: surface.stride, width: rect.width,
            fillsAlpha: isOpaque && surface.format.channels.hasAlpha)
    }

    /// Prepares to fill the surface with a part of the image.
    ///
    /// - Shape: the surface has the size of the part; in lossy data the part begins at even coordinates.
    /// - Throws: `.outOfMemory`.
    init(
        into surface: borrowing Surface, part: PixelRect, isOpaque: Bool, threads: Bool
    ) throws(CoderError) {
        precondition(!part.isEmpty && surface.size == part.size && part.x >= 0 && part.y >= 0)
        let start = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        var raw = webps_part(
            x: UInt32(part.x), y: UInt32(part.y), width: UInt32(part.width), height: UInt32(part.height))
        guard
            let decoder = unsafe webps_decoder_new_part(
                Self.code(surface.format), start, surface.stride, &raw, threads ? 1 : 0)
        else { throw WebPLibrary.error(WEBPS_NO_MEMORY) }
        unsafe self.decoder = decoder
        unsafe pixels = surface.baseAddress
        unsafe output = Output(
            start: start, stride: surface.stride, width: part.width,
            fillsAlpha: isOpaque && surface.format.channels.hasAlpha)
    }

    /// Prepares to fill the surface with a reduction of lossy data without alpha: each pixel is the mean of those that
    /// it covers.
    ///
    /// - Parameter source: the size of the image; the surface has at most half of each side, rounded up.
    /// - Throws: `.outOfMemory`.
    init(into surface: borrowing Surface, reducing source: PixelSize, threads: Bool) throws(CoderError) {
        let size = surface.size
        precondition(!size.isEmpty && size.width * 2 <= source.width + 1 && size.height * 2 <= source.height + 1)
        let start = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        var wanted = unsafe webps_reduction(
            format: Self.code(surface.format), width: UInt32(size.width), height: UInt32(size.height),
            source_width: UInt32(source.width), source_height: UInt32(source.height), pixels: start,
            stride: surface.stride)
        guard let decoder = unsafe webps_decoder_new_reduced(&wanted, threads ? 1 : 0) else {
            throw WebPLibrary.error(WEBPS_NO_MEMORY)
        }
        unsafe self.decoder = decoder
        unsafe pixels = surface.baseAddress
        unsafe output = Output(start: start, stride: surface.stride, width: size.width, fillsAlpha: false)
    }

    deinit { unsafe webps_decoder_free(decoder) }

    /// Whether this run began with the surface.
    package func isFilling(_ surface: borrowing Surface) -> Bool { unsafe pixels == surface.baseAddress }

    /// Continues with the bytes of `range`, whose start must not change; returns whether the image is complete.
    ///
    /// The corresponding C function is `WebPIUpdate`.
    package func update(_ source: ByteSource, _ range: Range<Int>) throws(CoderError) -> Bool {
        precondition(range.upperBound <= source.available)
        guard let base = unsafe source.baseAddress else { return false }
        var rows = UInt32(self.rows)
        let status = unsafe webps_decoder_update(decoder, base + range.lowerBound, range.count, &rows)
        output.fillAlpha(rows: self.rows..<max(self.rows, Int(rows)))
        self.rows = Int(rows)
        switch status {
        case WEBPS_OK: return true
        case WEBPS_NEEDS_INPUT: return false
        default: throw WebPLibrary.error(status)
        }
    }

    /// Decodes an image whose bytes are all there; this is faster than the incremental decoder.
    ///
    /// - Parameter isOpaque: whether the header declares that every pixel is opaque.
    /// - Shape: `range` begins with a chunk of the image, and the image has the size of the surface.
    ///
    /// The corresponding C function is `WebPDecode`.
    package static func decode(
        _ source: ByteSource, _ range: Range<Int>, into surface: borrowing Surface, isOpaque: Bool
    ) throws(CoderError) {
        precondition(range.upperBound <= source.available)
        let target = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        let (format, stride, size) = (code(surface.format), surface.stride, surface.size)
        // Only the bytes of one frame, so that a file that the host reads piece by piece need not be in memory.
        let status = source.withBytes(range) { bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe webps_decode(
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, format, target, stride,
                    UInt32(size.width), UInt32(size.height))
            }
        }
        // No more bytes follow.
        if status != WEBPS_OK { throw WebPLibrary.error(status == WEBPS_NEEDS_INPUT ? WEBPS_CORRUPT : status) }
        let output = unsafe Output(
            start: target, stride: stride, width: size.width,
            fillsAlpha: isOpaque && surface.format.channels.hasAlpha)
        output.fillAlpha(rows: 0..<size.height)
    }

    /// Copies a part of a buffer to the first rows of a surface with the same width.
    static func copy(_ buffer: PixelBuffer, _ part: PixelRect, into surface: borrowing Surface) {
        precondition(part.width == surface.size.width && part.height <= surface.size.height)
        precondition(part.isEmpty || PixelRect(buffer.size).contains(part))
        let pixel = surface.format.bytesPerPixel
        let (base, stride) = unsafe (surface.baseAddress, surface.stride)
        for y in 0..<part.height {
            buffer.withRow(part.y + y) { row in
                unsafe row.withUnsafeBytes { row in
                    let kept = unsafe UnsafeRawBufferPointer(
                        rebasing: row[part.x * pixel..<(part.x + part.width) * pixel])
                    unsafe (base + y * stride).copyMemory(from: kept.baseAddress!, byteCount: kept.count)
                }
            }
        }
    }

    /// Tells the allocator that blocks of this size are allocated and freed repeatedly.
    package static func expect(bytes: Int) { webps_expect(max(0, bytes)) }

    private static func code(_ format: PixelFormat) -> UInt32 {
        let isPremultiplied = format.alpha == .premultiplied
        return switch format.channels {
        case .rgba: isPremultiplied ? WEBPS_RGBA_PREMULTIPLIED : WEBPS_RGBA
        case .bgra: isPremultiplied ? WEBPS_BGRA_PREMULTIPLIED : WEBPS_BGRA
        default: WEBPS_RGB
        }
    }
}
