/// Owned pixels: `height` rows of `stride` bytes, row 0 at the top.
///
/// This is the one file of the module with unsafe code. A buffer may borrow memory from a pool; it gives it back when
/// the last reference goes.
///
/// - Ownership: whoever holds the only reference may write; once a buffer was handed to somebody else it is read-only.
// Sendable because: the memory never moves, and writing is only done by the one owner that has not shared it yet.
@safe public final class PixelBuffer: @unchecked Sendable {
    public let size: PixelSize
    /// May be changed to a format of the same layout, for example from `.rgba8` to its opaque twin.
    public private(set) var format: PixelFormat
    /// Bytes from one row's start to the next.
    public let stride: Int
    /// Bytes that belong to this buffer.
    public let byteCount: Int
    private let memory: UnsafeMutableRawPointer
    private let release: @Sendable (UnsafeMutableRawPointer, Int) -> Void
    private let order = AccessOrder()

    /// Takes over memory that somebody else allocated.
    ///
    /// - Ownership: `release` is called once, with the pointer and `byteCount`, when the buffer goes.
    @unsafe
    public init(
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
    /// - Throws: `.invalidArgument` for an empty size or one whose byte count does not fit.
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

    /// Whether nobody else refers to the buffer, so that it may be written to although it was shared before.
    package static func isOnlyReference(_ buffer: inout PixelBuffer) -> Bool {
        guard isKnownUniquelyReferenced(&buffer) else { return false }
        buffer.order.beginAlone()
        return true
    }

    /// The stride and byte count of a picture without padding.
    ///
    /// - Throws: `.invalidArgument` for an empty size or one whose byte count does not fit.
    public static func layout(
        size: PixelSize, format: PixelFormat
    ) throws(CoderError) -> (stride: Int, byteCount: Int) {
        guard !size.isEmpty, let stride = format.bytesPerRow(width: size.width) else {
            throw .invalidArgument("a picture of \(size) pixels cannot exist")
        }
        let (count, overflow) = stride.multipliedReportingOverflow(by: size.height)
        guard !overflow else { throw .invalidArgument("a picture of \(size) pixels does not fit into memory") }
        return (stride, count)
    }

    /// The bytes of one row without padding.
    public var bytesPerRow: Int { size.width * format.bytesPerPixel }

    /// Says that the same bytes mean another format with as many bytes in a pixel.
    package func relabel(_ format: PixelFormat) {
        precondition(format.bytesPerPixel == self.format.bytesPerPixel)
        self.format = format
    }

    /// Reads row `y`, without padding.
    public func withRow<R, E: Error>(_ y: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        defer { order.end() }
        let row = unsafe UnsafeRawBufferPointer(start: memory + y * stride, count: bytesPerRow)
        return try unsafe body(row.bytes)
    }

    /// Writes row `y`, without padding.
    public func withMutableRow<R, E: Error>(
        _ y: Int, _ body: (inout MutableRawSpan) throws(E) -> R
    ) throws(E) -> R {
        precondition(y >= 0 && y < size.height)
        defer { order.end() }
        let row = unsafe UnsafeMutableRawBufferPointer(start: memory + y * stride, count: bytesPerRow)
        var span = unsafe row.mutableBytes
        return try body(&span)
    }

    /// All memory of the buffer, padding included.
    @unsafe
    public func withUnsafeMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        defer { order.end() }
        return try unsafe body(UnsafeMutableRawBufferPointer(start: memory, count: byteCount))
    }
}

extension PixelBuffer {
    /// Reads several rows at once, padding included; the last one may end before its padding.
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
