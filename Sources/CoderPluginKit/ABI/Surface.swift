internal import CCoderPlugin
public import ImageModel

/// Pixels that the host owns: a decoder writes them, an encoder reads them.
///
/// - Shape: `size.height` rows of `size.width` pixels in `format`, row 0 at the top, `stride` bytes from row to row.
///   Bytes behind the last pixel of a row belong to somebody else.
@safe public struct Surface: ~Copyable {
    public let size: PixelSize
    public let format: PixelFormat
    public let stride: Int
    private let pixels: UnsafeMutableRawPointer
    /// Keeps the memory alive where a test made the surface.
    private let owner: PixelBuffer?

    /// A surface over a buffer, for tests.
    public init(_ buffer: PixelBuffer) {
        size = buffer.size
        format = buffer.format
        stride = buffer.stride
        unsafe pixels = buffer.withUnsafeMutableBytes { $0.baseAddress! }
        owner = buffer
    }

    /// A surface that the host lends for one call.
    ///
    /// - Throws: `.misuse` when its numbers do not fit together.
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

    /// The bytes of one row without padding.
    public var bytesPerRow: Int { size.width * format.bytesPerPixel }

    /// Reads row `y`.
    public func withRow<R, E: Error>(_ y: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        let row = unsafe UnsafeRawBufferPointer(start: pixels + y * stride, count: bytesPerRow)
        return try unsafe body(row.bytes)
    }

    /// Writes row `y`.
    public func withMutableRow<R, E: Error>(_ y: Int, _ body: (inout MutableRawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        let row = unsafe UnsafeMutableRawBufferPointer(start: pixels + y * stride, count: bytesPerRow)
        var span = unsafe row.mutableBytes
        return try body(&span)
    }

    /// Copies the pixels, for an encoder that needs them after the call that lent them.
    ///
    /// - Throws: `.invalidArgument` when their bytes cannot be counted.
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

    /// Where row 0 begins, for a C library that writes or reads the pixels. For use in a `Bridge/` folder.
    @unsafe
    public var baseAddress: UnsafeMutableRawPointer { unsafe pixels }
}
