public import ImageModel

/// A destination for encoded bytes.
public protocol OutputSink: AnyObject {
    /// Appends bytes.
    ///
    /// - Throws: `.inputOutput`, `.limitExceeded`.
    func write(_ bytes: RawSpan) throws(CoderError)

    /// Whether ``overwrite(_:at:)`` is supported.
    var isSeekable: Bool { get }

    /// Replaces bytes that were already written.
    ///
    /// - Throws: `.misuse` if the sink cannot overwrite or the range was not written yet, `.inputOutput`.
    func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError)
}

extension OutputSink {
    /// Returns false.
    public var isSeekable: Bool { false }
    /// Throws `.misuse`.
    public func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        throw CoderError(.misuse, "the output does not support overwriting")
    }

    /// Throws unless all `count` bytes at `offset` were already written.
    package func examine(_ offset: Int, _ count: Int, written: Int) throws(CoderError) {
        guard offset >= 0, count <= written, offset <= written - count else {
            throw CoderError(.misuse, "the bytes to overwrite were not written yet")
        }
    }
}

/// A sink that collects bytes in memory.
public final class MemorySink: OutputSink {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []
    private let maxBytes: Int

    /// Creates an empty sink with the output limit of `limits`.
    public init(limits: DecodeLimits = .default) { maxBytes = limits.maxOutputBytes }

    /// Appends bytes.
    public func write(_ span: RawSpan) throws(CoderError) {
        if maxBytes > 0 && span.byteCount > maxBytes - bytes.count {
            throw .limit("output", allowed: maxBytes, requested: bytes.count + span.byteCount)
        }
        bytes.reserveCapacity(bytes.count + span.byteCount)
        bytes.append(contentsOf: copyBytes(span))
    }

    /// Returns true.
    public var isSeekable: Bool { true }

    /// Replaces bytes that were already written.
    public func overwrite(_ span: RawSpan, at offset: Int) throws(CoderError) {
        try examine(offset, span.byteCount, written: bytes.count)
        bytes.replaceSubrange(offset..<offset + span.byteCount, with: copyBytes(span))
    }
}
