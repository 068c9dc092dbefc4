public import ImageModel
import ImageProcessing

/// Where encoded bytes go.
public protocol OutputSink: AnyObject {
    /// Appends bytes.
    ///
    /// - Throws: `.inputOutput`, `.limitExceeded`.
    func write(_ bytes: RawSpan) throws(CoderError)

    /// Whether ``overwrite(_:at:)`` may be called.
    var isSeekable: Bool { get }

    /// Replaces bytes that were written before.
    ///
    /// - Throws: `.misuse` where nothing can be replaced or the place was not written yet, `.inputOutput`.
    func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError)
}

extension OutputSink {
    public var isSeekable: Bool { false }
    public func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        throw CoderError(.misuse, "the output cannot be changed afterwards")
    }

    /// Throws unless `count` bytes at `offset` were written before.
    func examine(_ offset: Int, _ count: Int, written: Int) throws(CoderError) {
        guard offset >= 0, count <= written, offset <= written - count else {
            throw CoderError(.misuse, "there is nothing yet to be replaced")
        }
    }
}

/// Collects in memory.
public final class MemorySink: OutputSink {
    public private(set) var bytes: [UInt8] = []
    private let maxBytes: Int

    public init(limits: DecodeLimits = .default) { maxBytes = limits.maxOutputBytes }

    public func write(_ span: RawSpan) throws(CoderError) {
        if maxBytes > 0 && span.byteCount > maxBytes - bytes.count {
            throw .limit("output", allowed: maxBytes, requested: bytes.count + span.byteCount)
        }
        bytes.reserveCapacity(bytes.count + span.byteCount)
        bytes.append(contentsOf: copyBytes(span))
    }

    public var isSeekable: Bool { true }

    public func overwrite(_ span: RawSpan, at offset: Int) throws(CoderError) {
        try examine(offset, span.byteCount, written: bytes.count)
        bytes.replaceSubrange(offset..<offset + span.byteCount, with: copyBytes(span))
    }
}
