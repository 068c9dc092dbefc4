import HostSystem
public import ImageModel
package import PluginCatalogue

/// The bytes of one image.
///
/// A source is complete from the start (a file, bytes) or grows while data arrives. Existing bytes never change.
public final class ImageSource: Sendable {
    /// The name in error messages: a path, or `-` for standard input.
    package let name: String
    /// The origin of the bytes.
    package let origin: Origin
    package let storage: SourceStorage

    /// The origin of bytes, which decides where they are decoded.
    public enum Origin: String, Sendable, Hashable {
        /// A local file or stream that the user named.
        case local
        /// Memory of the application, which is responsible for the content.
        case memory
        /// A network; the content is untrusted.
        case network
    }

    /// Creates a complete source from bytes in memory.
    ///
    /// - Parameter name: the name in errors; its extension selects the format of bytes without a signature.
    public init(_ bytes: [UInt8], name: String = "bytes", origin: Origin = .memory) {
        self.name = name
        self.origin = origin
        storage = SourceStorage(copying: bytes)
    }

    /// Opens a whole file, or standard input for `-`.
    ///
    /// Files are read instead of mapped, because truncating a mapped file would kill the process. A large regular file
    /// is read in pieces during decoding and must not change meanwhile.
    /// - Throws: `.notFound`, `.inputOutput`, `.limitExceeded`.
    public init(path: String, limits: DecodeLimits = .default) throws(CoderError) {
        name = path
        origin = .local
        storage = try SourceStorage(path: path, maxBytes: limits.maxInputBytes)
    }

    /// Creates a source that grows up to `capacity` bytes; see ``append(_:)`` and ``finish()``.
    ///
    /// - Throws: `.outOfMemory`.
    package init(
        growingTo capacity: Int, name: String = "bytes", origin: Origin = .memory
    ) throws(CoderError) {
        self.name = name
        self.origin = origin
        storage = try SourceStorage(capacity: capacity)
    }

    /// Appends bytes to a growing source.
    ///
    /// - Throws: `.limitExceeded` above its capacity, `.misuse` after ``finish()``.
    package func append(_ bytes: [UInt8]) throws(CoderError) { try storage.append(bytes) }

    /// Marks the source as complete.
    package func finish() { storage.finish() }

    /// The number of bytes available now.
    public var count: Int { storage.available }
    /// Whether all bytes are available.
    public var isComplete: Bool { storage.isComplete }

    /// Copies a range, clamped to the available bytes.
    public func bytes(_ range: Range<Int>) -> [UInt8] { storage.bytes(range) }

    /// Calls `body` with a range, clamped to the available bytes.
    public func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try storage.withBytes(range, body)
    }

    /// A format sniffer for the available bytes.
    package var sniffer: FormatSniffer {
        let count = self.count
        return FormatSniffer(
            head: bytes(0..<FormatSniffer.headCount),
            tail: isComplete ? bytes(max(0, count - FormatSniffer.tailCount)..<count) : [])
    }

    /// Whether the sniffer has all bytes that it reads from the start.
    package var hasWholeHead: Bool { isComplete || count >= FormatSniffer.headCount }

    /// The file name extension passed to coders: at most 15 letters and digits.
    var extensionHint: String? {
        guard let ending = fileExtension, (1...15).contains(ending.utf8.count) else { return nil }
        return ending.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || $0 >= 0x30 && $0 <= 0x39 }
            ? ending : nil
    }

    /// The lower-case extension of the name.
    package var fileExtension: String? {
        FileName(name).suffix?.lowercased()
    }
}
