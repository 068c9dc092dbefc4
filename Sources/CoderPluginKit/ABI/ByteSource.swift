internal import CCoderPlugin
internal import ImageModel

/// The input of a decoding session: bytes that never change once they have arrived.
///
/// The bytes stay in the host's memory (a mapped file, a download buffer). They are copied only if the host reads piece
/// by piece.
@safe public final class ByteSource {
    private let source: UnsafePointer<cpi_source>?
    private var base: UnsafePointer<UInt8>?
    /// Whether the host can only read piece by piece.
    private let isReader: Bool
    /// The number of bytes known to have arrived. Only bytes beyond it require a call to the host.
    private var watermark = 0
    private var wasComplete = false
    /// The number of bytes copied so far.
    private var fetched = 0
    /// The number of bytes of a source for tests.
    private let total: Int
    /// The error of the first failed read; every later result or error of the decoder is meaningless.
    private(set) var failure: CoderError?
    /// Whether a read since the last ``takeLackOfInput()`` requested bytes that a growing source does not have yet.
    private var lacksInput = false
    /// The replacement for a host that reads piece by piece, in a source for tests.
    private let pieces: ((Range<Int>) throws(CoderError) -> [UInt8])?
    /// The source behind this window, and the window's start in it.
    private let whole: (source: ByteSource, start: Int)?
    /// Copies for a host without contiguous bytes. The last one is in use; pointers into earlier ones may exist.
    private var copies: [UnsafeMutableBufferPointer<UInt8>]

    /// Creates a source over bytes in memory, for tests.
    public convenience init(_ bytes: [UInt8]) {
        self.init(bytes, arrived: bytes.count)
        wasComplete = true
    }

    /// Creates a source of which only the first bytes have arrived, for tests; see ``arrive(_:)``.
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

    /// Creates a complete source that can only be read piece by piece, for tests.
    ///
    /// - Parameter read: returns the bytes of a range, or fewer if the file has become shorter.
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

    /// Makes more bytes arrive in a source for tests; without a count, all remaining bytes arrive.
    public func arrive(_ count: Int? = nil) {
        watermark = min(total, watermark + (count ?? total))
        if count == nil { wasComplete = true }
    }

    /// Creates a source over one of the host, which stays valid as long as this object exists.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    init(_ source: UnsafePointer<cpi_source>) throws(CoderError) {
        unsafe copies = []
        total = 0
        pieces = nil
        whole = nil
        // Version 1.0 of the interface fixed these fields, so they can be read in place.
        let bytes = unsafe try copyIn(source, least: FirstSize.source).bytes
        unsafe base = bytes
        isReader = unsafe bytes == nil
        unsafe self.source = source
    }

    /// Returns a complete source with only the bytes of `range`, counted from 0: a file embedded in this one.
    ///
    /// Contiguous bytes are not copied; others are read on demand.
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

    /// The file extension of the source in lower case without the dot; nil if unknown.
    ///
    /// A hint for formats without a signature.
    public var nameEnding: String? {
        guard let ending = unsafe source?.pointee.ending else { return nil }
        return unsafe String(cString: ending)
    }

    /// Whether no further bytes will arrive.
    public var isComplete: Bool {
        if !wasComplete, let source = unsafe source {
            wasComplete = unsafe source.pointee.complete(source.pointee.ctx) != 0
        }
        return wasComplete
    }

    /// The number of bytes that have arrived, counted from the start; it never decreases.
    public var available: Int {
        refresh()
        return watermark
    }

    /// Returns whether the first `count` bytes have arrived; calls the host only if that is not known yet.
    func has(_ count: Int) -> Bool {
        if count > watermark { refresh() }
        return count <= watermark
    }

    private func refresh() {
        guard let source = unsafe source else { return }
        watermark = unsafe max(watermark, Int(clamping: source.pointee.available(source.pointee.ctx)))
    }

    /// Returns the byte at `offset`, which must be below `available`.
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

    /// Calls `body` with a range that must be within `available`.
    ///
    /// If the host can only read piece by piece, only this range is read, so a large file need not be in memory.
    public func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(range.lowerBound >= 0 && has(range.upperBound))
        guard let start = unsafe lent(range) else { return unsafe try body(copy(range).span.bytes) }
        return try unsafe body(UnsafeRawBufferPointer(start: start, count: range.count).bytes)
    }

    /// The start of the bytes, for a C library that keeps the pointer; the first `available` bytes are readable until
    /// the session ends. Copies all bytes if the host can only read piece by piece. For use in a `Bridge/` folder.
    @unsafe
    public var baseAddress: UnsafePointer<UInt8>? {
        refresh()
        if isReader { fetch(upTo: watermark) }
        return unsafe base
    }

    /// Whether the bytes are contiguous, so that `baseAddress` does not copy them.
    public var isContiguous: Bool { !isReader || available == fetched && fetched > 0 }

    /// Copies bytes from `offset` on and returns their number; it is below the capacity only at the end of the bytes.
    /// For a C library that reads sequentially, in a `Bridge/` folder.
    ///
    /// - Throws: `.inputOutput` if the host cannot read.
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

    /// The bytes around the latest single-byte access.
    private var peeked: (start: Int, bytes: [UInt8]) = (0, [])
    /// The size of that cache: enough for a chunk or box header with its surroundings.
    private static let peekCount = 512

    /// Returns the address of a range; nil if it is not in memory. A copy may end before bytes that arrived later.
    private func lent(_ range: Range<Int>) -> UnsafePointer<UInt8>? {
        guard let base = unsafe base, !isReader || range.upperBound <= fetched else { return nil }
        return unsafe base + range.lowerBound
    }

    /// Lets the host copy bytes and returns their number.
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

    /// Returns, once, whether bytes were missing; a result decoded from their placeholders is meaningless.
    func takeLackOfInput() -> Bool {
        defer { lacksInput = false }
        return lacksInput
    }

    /// Copies a range; missing bytes read as zero, and `failure` or `lacksInput` records them.
    private func copy(_ range: Range<Int>) -> [UInt8] {
        if range.isEmpty { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: range.count) { target, count in
            unsafe target.initialize(repeating: 0)
            _ = try? unsafe deliver(range.lowerBound, target.baseAddress!, range.count)
            count = range.count
        }
    }

    /// Copies the new bytes, for a library that needs contiguous memory.
    private func fetch(upTo total: Int) {
        if total == fetched { return }
        if unsafe total > copies.last?.count ?? 0 {
            // Doubling the capacity keeps copying linear during a slow download.
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
