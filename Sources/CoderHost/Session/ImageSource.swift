public import ImageModel

/// The bytes of one picture.
///
/// A source is complete from the start (a file, bytes), or grows while data arrives. Bytes that are there never change.
public final class ImageSource: Sendable {
    /// What is shown in errors: a path, or `-` for standard input.
    public let name: String
    /// Where the bytes come from.
    public let origin: Origin
    let storage: SourceStorage

    /// Where bytes come from, as far as that decides where they are decoded.
    public enum Origin: String, Sendable, Hashable {
        /// A file or a stream that somebody named.
        case local
        /// Whoever makes the source has them, and answers for them.
        case memory
        /// Anybody's.
        case network
    }

    /// The whole content of bytes in memory.
    ///
    /// - Parameter name: shown in errors; its ending names the format of bytes without a signature.
    public init(_ bytes: [UInt8], name: String = "bytes", origin: Origin = .memory) {
        self.name = name
        self.origin = origin
        storage = SourceStorage(copying: bytes)
    }

    /// Reads a whole file, or standard input for `-`.
    ///
    /// The bytes are read, not mapped: a mapped file that somebody else makes shorter would end the process. A large
    /// regular file is read piece by piece while it is decoded, and must not be changed meanwhile.
    /// - Throws: `.notFound`, `.inputOutput`, `.limitExceeded`.
    public init(path: String, limits: DecodeLimits = .default) throws(CoderError) {
        name = path
        origin = .local
        storage = try SourceStorage(path: path, maxBytes: limits.maxInputBytes)
    }

    /// A source that grows up to `capacity` bytes; see ``append(_:)`` and ``finish()``.
    ///
    /// - Throws: `.outOfMemory`.
    public init(
        growingTo capacity: Int, name: String = "bytes", origin: Origin = .memory
    ) throws(CoderError) {
        self.name = name
        self.origin = origin
        storage = try SourceStorage(capacity: capacity)
    }

    /// Adds bytes to a growing source.
    ///
    /// - Throws: `.limitExceeded` above its capacity, `.misuse` after ``finish()``.
    public func append(_ bytes: [UInt8]) throws(CoderError) { try storage.append(bytes) }

    /// Says that no further byte will come.
    public func finish() { storage.finish() }

    /// Bytes that are there now.
    public var count: Int { storage.available }
    public var isComplete: Bool { storage.isComplete }

    /// Copies a part, cut to what is there.
    public func bytes(_ range: Range<Int>) -> [UInt8] { storage.bytes(range) }

    /// Lends a part, cut to what is there.
    public func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try storage.withBytes(range, body)
    }

    /// What a sniffer looks at.
    package var sniffer: FormatSniffer {
        let count = self.count
        return FormatSniffer(
            head: bytes(0..<FormatSniffer.headCount),
            tail: isComplete ? bytes(max(0, count - FormatSniffer.tailCount)..<count) : [])
    }

    /// Whether no byte that arrives later adds to what a sniffer looks at in the beginning.
    var hasWholeHead: Bool { isComplete || count >= FormatSniffer.headCount }

    /// The ending of the name as a coder is told it: at most 15 letters and digits.
    var endingHint: String? {
        guard let ending = fileExtension, (1...15).contains(ending.utf8.count) else { return nil }
        return ending.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || $0 >= 0x30 && $0 <= 0x39 } ? ending : nil
    }

    /// The lower-case extension of the name.
    public var fileExtension: String? {
        FileName(name).suffix?.lowercased()
    }
}
