internal import CCoderPlugin
internal import ImageModel

/// The input of a decoding session: bytes that never change once they have arrived.
///
/// The bytes stay where the host has them (a mapped file, a download buffer); nothing is copied unless the host can
/// only read piece by piece.
@safe public final class ByteSource {
    private let source: UnsafePointer<cpi_source>?
    private var base: UnsafePointer<UInt8>?
    /// Whether the host only reads piece by piece.
    private let isReader: Bool
    /// Bytes known to be there. The host is only asked again for what lies behind them.
    private var watermark = 0
    private var wasComplete = false
    /// Bytes that were copied so far.
    private var fetched = 0
    /// Bytes of a source for tests.
    private let total: Int
    /// The error of the first read that failed: what was decoded from then on, or refused, says nothing.
    private(set) var failure: CoderError?
    /// Whether a read since the last ``takeLackOfInput()`` asked for bytes that a growing source does not have yet.
    private var lacksInput = false
    /// What stands for a host that reads piece by piece, in a source for tests.
    private let pieces: ((Range<Int>) throws(CoderError) -> [UInt8])?
    /// The source that this one is a window on, and where the window begins in it.
    private let whole: (source: ByteSource, start: Int)?
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
        pieces = nil
        whole = nil
        isReader = false
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = unsafe copy.initialize(from: bytes)
        unsafe copies = [copy]
        unsafe base = UnsafePointer(copy.baseAddress)
        total = bytes.count
        watermark = arrived
    }

    /// A complete source that can only be read piece by piece, for tests.
    ///
    /// - Parameter read: answers the bytes of a range; fewer of them where the file has become shorter since.
    public init(count: Int, readingWith read: @escaping (Range<Int>) throws(CoderError) -> [UInt8]) {
        precondition(count >= 0)
        unsafe source = nil
        unsafe copies = []
        pieces = read
        whole = nil
        isReader = true
        total = count
        watermark = count
        wasComplete = true
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
        pieces = nil
        whole = nil
        // 1.0 froze all of these fields, so they can be read where they are from now on.
        let bytes = unsafe try copyIn(source, least: FirstSize.source).bytes
        unsafe base = bytes
        isReader = unsafe bytes == nil
        unsafe self.source = source
    }

    /// A complete source that holds the bytes of `range` alone, counted from 0: a file inside of this one.
    ///
    /// Nothing is copied where the bytes stand in one piece; else they are read when they are asked for.
    ///
    /// - Parameter range: within ``available``.
    public func window(_ range: Range<Int>) -> ByteSource {
        precondition(range.lowerBound >= 0 && has(range.upperBound))
        return ByteSource(self, range)
    }

    private init(_ whole: ByteSource, _ range: Range<Int>) {
        unsafe source = nil
        unsafe copies = []
        pieces = nil
        self.whole = (whole, range.lowerBound)
        unsafe base = whole.lent(range)
        isReader = unsafe base == nil
        total = range.count
        watermark = range.count
        wasComplete = true
    }

    deinit { unsafe copies.forEach { unsafe $0.deallocate() } }

    /// The ending of the source's name in lower case without the dot; nil where it is not known.
    ///
    /// A hint for formats without a signature.
    public var nameEnding: String? {
        guard let ending = unsafe source?.pointee.ending else { return nil }
        return unsafe String(cString: ending)
    }

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
        if let start = unsafe lent(offset..<offset + 1) { return unsafe start.pointee }
        if !(peeked.start..<peeked.start + peeked.bytes.count).contains(offset) {
            peeked = (offset, copy(offset..<min(watermark, offset + Self.peekCount)))
        }
        return peeked.bytes[offset - peeked.start]
    }

    /// Copies a range that must be within `available`.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        precondition(range.lowerBound >= 0 && has(range.upperBound))
        guard let start = unsafe lent(range) else { return copy(range) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: range.count))
    }

    /// Lends a range that must be within `available`.
    ///
    /// Where the host can only read piece by piece, this is the piece: a large file need not be in memory.
    public func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(range.lowerBound >= 0 && has(range.upperBound))
        guard let start = unsafe lent(range) else { return unsafe try body(copy(range).span.bytes) }
        return try unsafe body(UnsafeRawBufferPointer(start: start, count: range.count).bytes)
    }

    /// Where the bytes stand, for a C library that keeps the pointer; the first `available` of them may be read until
    /// the session ends. Copies everything where the host can only read piece by piece. For use in a `Bridge/` folder.
    @unsafe
    public var baseAddress: UnsafePointer<UInt8>? {
        refresh()
        if isReader { fetch(upTo: watermark) }
        return unsafe base
    }

    /// Whether the bytes stand in one piece, so that `baseAddress` costs nothing.
    public var isContiguous: Bool { !isReader || available == fetched && fetched > 0 }

    /// Copies what stands at `offset` and answers how many bytes that were: fewer than there is room for only where
    /// they end. For a C library that reads from front to back, in a `Bridge/` folder.
    ///
    /// - Throws: `.inputOutput` where the host cannot read.
    @unsafe
    public func read(at offset: Int, into target: UnsafeMutableBufferPointer<UInt8>) throws(CoderError) -> Int {
        precondition(offset >= 0)
        let count = min(target.count, max(0, available - offset))
        guard count > 0, let address = target.baseAddress else { return 0 }
        if let start = unsafe lent(offset..<offset + count) {
            unsafe address.update(from: start, count: count)
            return count
        }
        return try unsafe deliver(offset, address, count)
    }

    // MARK: A host without contiguous bytes

    /// Bytes around the last one that was looked at.
    private var peeked: (start: Int, bytes: [UInt8]) = (0, [])
    /// Enough for a chunk or box header and what stands beside it.
    private static let peekCount = 512

    /// Where a range stands in memory; nil where it does not. A copy may end before what has arrived since.
    private func lent(_ range: Range<Int>) -> UnsafePointer<UInt8>? {
        guard let base = unsafe base, !isReader || range.upperBound <= fetched else { return nil }
        return unsafe base + range.lowerBound
    }

    /// Has the host copy bytes and answers how many it did.
    private func deliver(
        _ offset: Int, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
    ) throws(CoderError) -> Int {
        if let pieces {
            let bytes = try pieces(offset..<offset + count).prefix(count)
            for (index, byte) in bytes.enumerated() { unsafe target[index] = byte }
            return bytes.count
        }
        if let whole {
            return try unsafe whole.source.read(
                at: whole.start + offset, into: UnsafeMutableBufferPointer(start: target, count: count))
        }
        guard let source = unsafe source else { return 0 }
        var copied: UInt64 = 0
        let status = unsafe source.pointee.read_at(
            source.pointee.ctx, UInt64(offset), target, UInt64(count), &copied)
        if let error = CoderError(callback: status) {
            if error.code == .needsInput { lacksInput = true } else if failure == nil { failure = error }
            throw error
        }
        return Int(min(copied, UInt64(count)))
    }

    /// Tells once whether bytes were missing: whatever was decoded from their place holders says nothing.
    func takeLackOfInput() -> Bool {
        defer { lacksInput = false }
        return lacksInput
    }

    /// Copies a range; bytes that the host does not deliver read as zero, and `failure` or `lacksInput` tells of them.
    private func copy(_ range: Range<Int>) -> [UInt8] {
        if range.isEmpty { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: range.count) { target, count in
            unsafe target.initialize(repeating: 0)
            _ = try? unsafe deliver(range.lowerBound, target.baseAddress!, range.count)
            count = range.count
        }
    }

    /// Copies what is new, for a library that needs one piece.
    private func fetch(upTo total: Int) {
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
        _ = try? unsafe deliver(fetched, start + fetched, total - fetched)
        fetched = total
    }
}
