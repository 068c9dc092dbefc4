internal import CCoderPlugin
public import ImageModel

/// Pixels in the host's memory: a decoder writes them, an encoder reads them.
///
/// - Shape: `size.height` rows of `size.width` pixels in `format`, row 0 at the top, `stride` bytes from row to row.
///   The bytes after the last pixel of a row do not belong to the surface.
@safe public struct Surface: ~Copyable {
    /// The size in pixels.
    public let size: PixelSize
    /// The pixel format.
    public let format: PixelFormat
    /// The number of bytes from one row's start to the next.
    public let stride: Int
    private let pixels: UnsafeMutableRawPointer
    /// Keeps the memory of a surface for tests alive.
    private let owner: PixelBuffer?

    /// Creates a surface over a buffer, for tests.
    public init(_ buffer: PixelBuffer) {
        size = buffer.size
        format = buffer.format
        stride = buffer.stride
        unsafe pixels = buffer.withUnsafeMutableBytes { $0.baseAddress! }
        owner = buffer
    }

    /// Creates a surface over memory that the host lends for one call.
    ///
    /// - Throws: `.misuse` if its numbers are inconsistent.
    @unsafe
    init(_ surface: UnsafePointer<cpi_surface>) throws(CoderError) {
        let raw = unsafe try copyIn(surface, least: FirstSize.surface)
        let size = unsafe PixelSize(Int(raw.width), Int(raw.height))
        guard let start = unsafe raw.pixels,
            let format = unsafe PixelFormat(raw.format), !size.isEmpty,
            let rowBytes = format.bytesPerRow(width: size.width),
            let stride = unsafe Int(exactly: raw.stride), let count = unsafe Int(exactly: raw.byte_count),
            stride >= rowBytes
        else { throw CoderError(.misuse, "the host lent a surface whose numbers do not fit together") }
        let (before, overflow) = stride.multipliedReportingOverflow(by: size.height - 1)
        guard !overflow, count >= rowBytes, before <= count - rowBytes else {
            throw CoderError(.misuse, "the host lent a surface that is too small")
        }
        self.size = size
        self.format = format
        self.stride = stride
        unsafe pixels = UnsafeMutableRawPointer(start)
        owner = nil
    }

    /// The number of bytes in one row without padding.
    public var bytesPerRow: Int { size.width * format.bytesPerPixel }

    /// Calls `body` with the bytes of row `y`.
    public func withRow<R, E: Error>(_ y: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        let row = unsafe UnsafeRawBufferPointer(start: pixels + y * stride, count: bytesPerRow)
        return try unsafe body(row.bytes)
    }

    /// Calls `body` with the writable bytes of row `y`.
    public func withMutableRow<R, E: Error>(_ y: Int, _ body: (inout MutableRawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        let row = unsafe UnsafeMutableRawBufferPointer(start: pixels + y * stride, count: bytesPerRow)
        var span = unsafe row.mutableBytes
        return try body(&span)
    }

    /// Copies the pixels, for an encoder that needs them after the current call.
    ///
    /// - Throws: `.invalidArgument` if the byte count overflows.
    public func copy() throws(CoderError) -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        unsafe buffer.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                unsafe (bytes.baseAddress! + y * buffer.stride).copyMemory(
                    from: pixels + y * stride, byteCount: bytesPerRow)
            }
        }
        return buffer
    }

    /// The start of row 0, for a C library that writes or reads the pixels. For use in a `Bridge/` folder.
    @unsafe
    public var baseAddress: UnsafeMutableRawPointer { unsafe pixels }
}
