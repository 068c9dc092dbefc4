internal import CCoderPlugin
internal import ImageModel

/// The input of a decoding session: bytes that never change once they have arrived.
///
/// The bytes stay where the host has them (a mapped file, a download buffer); nothing is copied unless the host can
/// only read piece by piece.
@safe public final class ByteSource {
    private let source: UnsafePointer<cpi_source>?
    private var base: UnsafePointer<UInt8>?
    /// Bytes known to be there. The host is only asked again for what lies behind them.
    private var watermark = 0
    private var wasComplete = false
    /// Bytes that were copied so far.
    private var fetched = 0
    /// Bytes of a source for tests.
    private let total: Int
    /// Copies of what a host without contiguous bytes has: the last is in use, earlier ones may still be pointed at.
    private var copies: [UnsafeMutableBufferPointer<UInt8>]

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
        unsafe copies = [copy]
        unsafe base = UnsafePointer(copy.baseAddress)
        total = bytes.count
        watermark = arrived
    }

    /// Lets more bytes arrive, in a source for tests; without a number the rest, and it is complete.
    public func arrive(_ count: Int? = nil) {
        watermark = min(total, watermark + (count ?? total))
        if count == nil { wasComplete = true }
    }

    /// A source over what the host lends; `source` stays valid as long as this object lives.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    init(_ source: UnsafePointer<cpi_source>) throws(CoderError) {
        unsafe copies = []
        total = 0
        // All of it stood in the first minor, so its fields can be read where they are from now on.
        unsafe base = try copyIn(source, least: FirstSize.source).bytes
        unsafe self.source = source
    }

    deinit { unsafe copies.forEach { unsafe $0.deallocate() } }

    /// Whether no further byte will come.
    public var isComplete: Bool {
        if !wasComplete, let source = unsafe source {
            wasComplete = unsafe source.pointee.complete(source.pointee.ctx) != 0
        }
        return wasComplete
    }

    /// Bytes from the start that are there now; never goes down.
    public var available: Int {
        refresh()
        return watermark
    }

    /// Whether the first `count` bytes are there; asks the host only where that is not known yet.
    func has(_ count: Int) -> Bool {
        if count > watermark { refresh() }
        return count <= watermark
    }

    private func refresh() {
        guard let source = unsafe source else { return }
        watermark = unsafe max(watermark, Int(clamping: source.pointee.available(source.pointee.ctx)))
    }

    /// The byte at `offset`, which must be below `available`.
    public subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && (offset < watermark || has(offset + 1)))
        if let base = unsafe base { return unsafe base[offset] }
        if !(peeked.start..<peeked.start + peeked.bytes.count).contains(offset) {
            peeked = (offset, read(offset..<min(watermark, offset + Self.peekCount)))
        }
        return peeked.bytes[offset - peeked.start]
    }

    /// Copies a range that must be within `available`.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        precondition(range.lowerBound >= 0 && has(range.upperBound))
        guard let base = unsafe base else { return read(range) }
        return unsafe Array(UnsafeBufferPointer(start: base + range.lowerBound, count: range.count))
    }

    /// Lends a range that must be within `available`.
    ///
    /// Where the host can only read piece by piece, this is the piece: a large file need not be in memory.
    public func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(range.lowerBound >= 0 && has(range.upperBound))
        guard let base = unsafe base else { return unsafe try body(read(range).span.bytes) }
        return try unsafe body(UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count).bytes)
    }

    /// Where the bytes stand, for a C library that keeps the pointer; the first `available` of them may be read until
    /// the session ends. Copies everything where the host can only read piece by piece. For use in a `Bridge/` folder.
    @unsafe
    public var baseAddress: UnsafePointer<UInt8>? {
        refresh()
        if let source = unsafe source, unsafe source.pointee.bytes == nil { unsafe fetch(source, upTo: watermark) }
        return unsafe base
    }

    // MARK: A host without contiguous bytes

    /// Bytes around the last one that was looked at.
    private var peeked: (start: Int, bytes: [UInt8]) = (0, [])
    /// Enough for a chunk or box header and what stands beside it.
    private static let peekCount = 512

    /// Reads a range; what the host cannot deliver any more reads as zero.
    private func read(_ range: Range<Int>) -> [UInt8] {
        guard let source = unsafe source, !range.isEmpty else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: range.count) { target, count in
            unsafe target.initialize(repeating: 0)
            var copied: UInt64 = 0
            _ = unsafe source.pointee.read_at(
                source.pointee.ctx, UInt64(range.lowerBound), target.baseAddress!, UInt64(range.count), &copied)
            count = range.count
        }
    }

    /// Copies what is new, for a library that needs one piece.
    private func fetch(_ source: UnsafePointer<cpi_source>, upTo total: Int) {
        if total == fetched { return }
        if unsafe total > copies.last?.count ?? 0 {
            // Doubling keeps the copying linear while a download trickles in.
            let capacity = unsafe max(total, 2 * (copies.last?.count ?? 0))
            let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: capacity)
            unsafe larger.initialize(repeating: 0)
            if let base = unsafe base { unsafe larger.baseAddress!.update(from: base, count: fetched) }
            unsafe copies.append(larger)
            unsafe base = UnsafePointer(larger.baseAddress)
        }
        guard let start = unsafe copies.last?.baseAddress else { return }
        var count: UInt64 = 0
        _ = unsafe source.pointee.read_at(
            source.pointee.ctx, UInt64(fetched), start + fetched, UInt64(total - fetched), &count)
        fetched = total
    }
}
