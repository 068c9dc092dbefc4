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
    private var arrival = Arrival()
    /// The number of bytes copied so far.
    private var fetched = 0
    private var reading = Reading()
    private let substitute: Substitute
    /// Copies for a host without contiguous bytes. The last one is in use; pointers into earlier ones may exist.
    private var copies: [UnsafeMutableBufferPointer<UInt8>]

    /// The bytes known to have arrived.
    private struct Arrival {
        /// Only bytes beyond this number require a call to the host.
        var count = 0
        var isComplete = false
    }

    /// The outcome of the reads so far.
    private struct Reading {
        /// The error of the first failed read.
        var failure: CoderError?
        /// Whether a read since the last ``takeLackOfInput()`` requested bytes that a growing source does not have yet.
        var lacksInput = false
    }

    /// The bytes of a source without a host: a source for tests, or a window.
    private struct Substitute {
        var total = 0
        /// Reads piece by piece.
        var pieces: ((Range<Int>) throws(CoderError) -> [UInt8])?
        /// The source behind a window, and the window's start in it.
        var whole: (source: ByteSource, start: Int)?
    }

    /// The error of the first failed read; every later result or error of the decoder is meaningless.
    var failure: CoderError? { reading.failure }

    /// Creates a source over bytes in memory, for tests.
    public convenience init(_ bytes: [UInt8]) {
        self.init(bytes, arrived: bytes.count)
        arrival.isComplete = true
    }

    /// Creates a source of which only the first bytes have arrived, for tests; see ``arrive(_:)``.
    public init(_ bytes: [UInt8], arrived: Int) {
        precondition(arrived >= 0 && arrived <= bytes.count)
        unsafe source = nil
        isReader = false
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = unsafe copy.initialize(from: bytes)
        unsafe copies = [copy]
        unsafe base = UnsafePointer(copy.baseAddress)
        substitute = Substitute(total: bytes.count)
        arrival.count = arrived
    }

    /// Creates a complete source that can only be read piece by piece, for tests.
    ///
    /// - Parameter read: returns the bytes of a range, or fewer if the file has become shorter.
    public init(count: Int, readingWith read: @escaping (Range<Int>) throws(CoderError) -> [UInt8]) {
        precondition(count >= 0)
        unsafe source = nil
        unsafe copies = []
        isReader = true
        substitute = Substitute(total: count, pieces: read)
        arrival.count = count
        arrival.isComplete = true
    }

    /// Makes more bytes arrive in a source for tests; without a count, all remaining bytes arrive.
    public func arrive(_ count: Int? = nil) {
        arrival.count = min(substitute.total, arrival.count + (count ?? substitute.total))
        if count == nil { arrival.isComplete = true }
    }

    /// Creates a source over one of the host, which stays valid as long as this object exists.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    init(_ source: UnsafePointer<cpi_source>) throws(CoderError) {
        unsafe copies = []
        substitute = Substitute()
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
        unsafe base = whole.lent(range)
        isReader = unsafe base == nil
        substitute = Substitute(total: range.count, whole: (whole, range.lowerBound))
        arrival.count = range.count
        arrival.isComplete = true
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
        if !arrival.isComplete, let source = unsafe source {
            arrival.isComplete = unsafe source.pointee.complete(source.pointee.ctx) != 0
        }
        return arrival.isComplete
    }

    /// The number of bytes that have arrived, counted from the start; it never decreases.
    public var available: Int {
        refresh()
        return arrival.count
    }

    /// Returns whether the first `count` bytes have arrived; calls the host only if that is not known yet.
    func has(_ count: Int) -> Bool {
        if count > arrival.count { refresh() }
        return count <= arrival.count
    }

    private func refresh() {
        guard let source = unsafe source else { return }
        arrival.count = unsafe max(arrival.count, Int(clamping: source.pointee.available(source.pointee.ctx)))
    }

    /// Returns the byte at `offset`, which must be below `available`.
    public subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && (offset < arrival.count || has(offset + 1)))
        if let start = unsafe lent(offset..<offset + 1) { return unsafe start.pointee }
        if !(peeked.start..<peeked.start + peeked.bytes.count).contains(offset) {
            peeked = (offset, copy(offset..<min(arrival.count, offset + Self.peekCount)))
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
        if isReader { fetch(upTo: arrival.count) }
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
        if let pieces = substitute.pieces {
            let bytes = try pieces(offset..<offset + count).prefix(count)
            for (index, byte) in bytes.enumerated() { unsafe target[index] = byte }
            return bytes.count
        }
        if let whole = substitute.whole {
            return try unsafe whole.source.read(
                at: whole.start + offset, into: UnsafeMutableBufferPointer(start: target, count: count))
        }
        guard let source = unsafe source else { return 0 }
        var copied: UInt64 = 0
        let status = unsafe source.pointee.read_at(
            source.pointee.ctx, UInt64(offset), target, UInt64(count), &copied)
        if let error = CoderError(callback: status) {
            if error.code == .needsInput {
                reading.lacksInput = true
            } else if failure == nil {
                reading.failure = error
            }
            throw error
        }
        return Int(min(copied, UInt64(count)))
    }

    /// Returns, once, whether bytes were missing; a result decoded from their placeholders is meaningless.
    func takeLackOfInput() -> Bool {
        defer { reading.lacksInput = false }
        return reading.lacksInput
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
