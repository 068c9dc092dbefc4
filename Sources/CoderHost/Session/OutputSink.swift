public import ImageModel

/// Where encoded bytes go.
public protocol OutputSink: AnyObject {
    /// Appends bytes.
    ///
    /// - Throws: `.inputOutput`, `.limitExceeded`.
    func write(_ bytes: RawSpan) throws(CoderError)
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
}
