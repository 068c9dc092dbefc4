// Sendable because: the memory never moves, and only an owner that has not shared the buffer writes to it.
/// Owned pixels: `height` rows of `stride` bytes, row 0 at the top.
///
/// This file holds the module's only unsafe code. A buffer may borrow its memory from a pool; it returns the memory
/// when its last reference is released.
///
/// - Ownership: the holder of the only reference may write; once shared, a buffer is read-only.
@safe public final class PixelBuffer: @unchecked Sendable {
    /// The size in pixels.
    public let size: PixelSize
    /// The pixel format. Its owner may change it to one with the same layout, for example `.rgba8` to its opaque twin.
    public private(set) var format: PixelFormat
    /// The number of bytes from one row's start to the next.
    public let stride: Int
    /// The number of bytes that belong to this buffer.
    package let byteCount: Int
    private let memory: UnsafeMutableRawPointer
    private let release: @Sendable (UnsafeMutableRawPointer, Int) -> Void
    private let order = AccessOrder()

    /// Takes ownership of memory that the caller allocated.
    ///
    /// - Ownership: the buffer calls `release` once, with the pointer and `byteCount`, when it is deallocated.
    @unsafe
    package init(
        size: PixelSize, format: PixelFormat, stride: Int, memory: UnsafeMutableRawPointer, byteCount: Int,
        release: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> Void
    ) {
        precondition(!size.isEmpty && stride >= size.width * format.bytesPerPixel)
        precondition(byteCount >= stride * (size.height - 1) + size.width * format.bytesPerPixel)
        self.size = size
        self.format = format
        self.stride = stride
        self.byteCount = byteCount
        unsafe self.memory = memory
        unsafe self.release = release
    }

    /// Allocates zeroed memory with the smallest stride.
    ///
    /// - Throws: `.invalidArgument` for an empty size or a byte count that does not fit.
    public convenience init(size: PixelSize, format: PixelFormat) throws(CoderError) {
        let (stride, count) = try Self.layout(size: size, format: format)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 64)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: count)
        unsafe self.init(size: size, format: format, stride: stride, memory: memory, byteCount: count) { memory, _ in
            unsafe memory.deallocate()
        }
    }

    deinit {
        order.beginAlone()
        unsafe release(memory, byteCount)
    }

    /// Returns whether this is the only reference, so that the caller may write to a buffer that was shared before.
    package static func isOnlyReference(_ buffer: inout PixelBuffer) -> Bool {
        guard isKnownUniquelyReferenced(&buffer) else { return false }
        buffer.order.beginAlone()
        return true
    }

    /// Returns the stride and byte count of an image without padding.
    ///
    /// - Throws: `.invalidArgument` for an empty size or a byte count that does not fit.
    package static func layout(
        size: PixelSize, format: PixelFormat
    ) throws(CoderError) -> (stride: Int, byteCount: Int) {
        guard !size.isEmpty, let stride = format.bytesPerRow(width: size.width) else {
            throw .invalidArgument("an image of \(size) pixels cannot exist")
        }
        let (count, overflow) = stride.multipliedReportingOverflow(by: size.height)
        guard !overflow else { throw .invalidArgument("an image of \(size) pixels does not fit into memory") }
        return (stride, count)
    }

    /// The number of bytes in one row without padding.
    @inlinable package var bytesPerRow: Int { size.width * format.bytesPerPixel }

    /// Declares that the same bytes have another format with the same number of bytes per pixel.
    package func relabel(_ format: PixelFormat) {
        precondition(format.bytesPerPixel == self.format.bytesPerPixel)
        self.format = format
    }

    /// Calls `body` with the bytes of row `y`, without padding.
    public func withRow<R, E: Error>(_ y: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        defer { order.end() }
        let row = unsafe UnsafeRawBufferPointer(start: memory + y * stride, count: bytesPerRow)
        return try unsafe body(row.bytes)
    }

    /// Calls `body` with the writable bytes of row `y`, without padding.
    public func withMutableRow<R, E: Error>(
        _ y: Int, _ body: (inout MutableRawSpan) throws(E) -> R
    ) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        defer { order.end() }
        let row = unsafe UnsafeMutableRawBufferPointer(start: memory + y * stride, count: bytesPerRow)
        var span = unsafe row.mutableBytes
        return try body(&span)
    }

    /// The whole memory of the buffer, including padding.
    @unsafe
    public func withUnsafeMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        defer { order.end() }
        return try unsafe body(UnsafeMutableRawBufferPointer(start: memory, count: byteCount))
    }
}

extension PixelBuffer {
    /// Reads several rows at once, including padding; the last row may end before its padding.
    package func withRows<R, E: Error>(_ y: Int, _ count: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && count > 0 && y <= size.height - count)
        return try unsafe withUnsafeMutableBytes { bytes throws(E) in
            let start = y * stride
            let part = unsafe UnsafeRawBufferPointer(
                rebasing: bytes[start..<start + (count - 1) * stride + bytesPerRow])
            return try unsafe body(part.bytes)
        }
    }
}
