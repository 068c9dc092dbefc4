internal import CCoderPlugin
internal import ImageModel

/// The input of a decoding session: bytes that never change once they have arrived.
///
/// The bytes stay where the host has them (a mapped file, a download buffer); nothing is copied unless the host can
/// only read piece by piece.
@safe public final class ByteSource {
    private let source: UnsafePointer<cpi_source>?
    private var owned: UnsafeMutableBufferPointer<UInt8>?
    private var base: UnsafePointer<UInt8>?
    private var fetched = 0
    private var wasComplete = false
    /// Bytes of a source for tests.
    private let total: Int

    /// A source over bytes in memory, for tests.
    public convenience init(_ bytes: [UInt8]) {
        self.init(bytes, arrived: bytes.count)
        wasComplete = true
    }

    /// A source over bytes of which only the first few have arrived, for tests; see ``arrive(_:)``.
    public init(_ bytes: [UInt8], arrived: Int) {
        precondition(arrived >= 0 && arrived <= bytes.count)
        unsafe source = nil
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = unsafe copy.initialize(from: bytes)
        unsafe owned = copy
        unsafe base = UnsafePointer(copy.baseAddress)
        total = bytes.count
        fetched = arrived
    }

    /// Lets more bytes arrive, in a source for tests; without a number the rest, and it is complete.
    public func arrive(_ count: Int? = nil) {
        fetched = min(total, fetched + (count ?? total))
        if count == nil { wasComplete = true }
    }

    /// A source over what the host lends; `source` stays valid as long as this object lives.
    @unsafe
    init(_ source: UnsafePointer<cpi_source>) {
        total = 0
        unsafe self.source = source
        unsafe base = source.pointee.bytes
    }

    deinit { unsafe owned?.deallocate() }

    /// Whether no further byte will come.
    public var isComplete: Bool {
        guard let source = unsafe source else { return wasComplete }
        return unsafe source.pointee.complete(source.pointee.ctx) != 0
    }

    /// Bytes from the start that are there now; never goes down.
    public var available: Int {
        guard let source = unsafe source else { return fetched }
        if unsafe source.pointee.bytes == nil {
            unsafe fetchAll(source)
            return fetched
        }
        return unsafe Int(clamping: source.pointee.available(source.pointee.ctx))
    }

    /// The byte at `offset`, which must be below `available`.
    public subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < available)
        return unsafe base![offset]
    }

    /// Copies a range that must be within `available`.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        precondition(range.lowerBound >= 0 && range.upperBound <= available)
        return unsafe Array(UnsafeBufferPointer(start: base.map { unsafe $0 + range.lowerBound }, count: range.count))
    }

    /// Lends a range that must be within `available`.
    public func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= available)
        let view = unsafe UnsafeRawBufferPointer(start: base.map { unsafe $0 + range.lowerBound }, count: range.count)
        return try unsafe body(view.bytes)
    }

    /// Where the bytes stand, for a C library that keeps the pointer; the first `available` of them may be read until
    /// the session ends. For use in a `Bridge/` folder.
    @unsafe
    public var baseAddress: UnsafePointer<UInt8>? {
        _ = available
        return unsafe base
    }

    /// Copies everything from a host that has no contiguous bytes.
    private func fetchAll(_ source: UnsafePointer<cpi_source>) {
        let total = unsafe Int(clamping: source.pointee.available(source.pointee.ctx))
        if total <= fetched { return }
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: total)
        var count: UInt64 = 0
        let status = unsafe source.pointee.read_at(
            source.pointee.ctx, 0, larger.baseAddress!, UInt64(total), &count)
        if status == CPI_OK || status == CPI_NEED_INPUT {
            unsafe owned?.deallocate()
            unsafe owned = larger
            unsafe base = UnsafePointer(larger.baseAddress)
            fetched = min(total, Int(clamping: count))
        } else {
            unsafe larger.deallocate()
        }
    }
}
