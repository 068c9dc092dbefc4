import HostSystem
package import ImageModel

/// Collects output that may turn out to be too large.
package final class TrialSink: OutputSink {
    /// The reaction to output above the limit.
    package enum Excess: Sendable {
        /// The attempt ends with an error.
        case stop
        /// The bytes are dropped and counted, so that the whole input is read.
        case count
        /// The bytes are kept.
        case keep
    }

    /// The output; empty if the sink dropped it.
    package private(set) var bytes: [UInt8] = []
    /// The number of bytes, including dropped ones.
    package private(set) var written = 0
    /// How much of the input the encoder has received, from 0 to 1.
    package var share = 1.0
    private let limit: Int
    private let excess: Excess
    private let maxBytes: Int

    /// - Parameter limit: the number of bytes that is not too large.
    package init(limit: Int, _ excess: Excess, limits: DecodeLimits) {
        self.limit = limit
        self.excess = excess
        maxBytes = limits.maxOutputBytes
    }

    /// Whether the output is above the limit.
    package var isExceeded: Bool { written > limit }
    package var isSeekable: Bool { true }

    private var drops: Bool { isExceeded && excess != .keep }

    package func write(_ span: RawSpan) throws(CoderError) {
        if maxBytes > 0, span.byteCount > maxBytes - written {
            throw .limit("output", allowed: maxBytes, requested: written + span.byteCount)
        }
        written += span.byteCount
        if drops { bytes = [] } else { bytes += copyBytes(span) }
        if isExceeded, excess == .stop { throw .limit("file size", allowed: limit, requested: written) }
    }

    package func overwrite(_ span: RawSpan, at offset: Int) throws(CoderError) {
        try examine(offset, span.byteCount, written: written)
        if !drops { bytes.replaceSubrange(offset..<offset + span.byteCount, with: copyBytes(span)) }
    }
}
