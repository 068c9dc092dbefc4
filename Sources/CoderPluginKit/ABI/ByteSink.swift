public import CCoderPlugin
public import ImageModel

/// The output of an encoding session.
@safe public final class ByteSink {
    private let sink: UnsafePointer<cpi_sink>?
    /// The collected output of a sink for tests.
    public private(set) var written: [UInt8] = []

    /// Creates a sink that collects its output, for tests.
    public init() { unsafe sink = nil }

    /// Creates a sink over one of the host, which stays valid as long as this object exists.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    init(_ sink: UnsafePointer<cpi_sink>) throws(CoderError) {
        _ = unsafe try copyIn(sink, least: FirstSize.sink)
        unsafe self.sink = sink
    }

    /// Appends bytes.
    ///
    /// - Throws: `.inputOutput`, or `.limitExceeded` when the output grows too large.
    public func write(_ bytes: [UInt8]) throws(CoderError) {
        let status = unsafe bytes.withUnsafeBufferPointer { unsafe write($0) }
        if let error = Self.error(status) { throw error }
    }

    /// Appends bytes.
    ///
    /// - Throws: `.inputOutput`, or `.limitExceeded` when the output grows too large.
    public func write(_ bytes: RawSpan) throws(CoderError) {
        let status = unsafe bytes.withUnsafeBytes { unsafe write($0.assumingMemoryBound(to: UInt8.self)) }
        if let error = Self.error(status) { throw error }
    }

    /// Whether ``overwrite(_:at:)`` may be called. For animations the host always provides a seekable output.
    public var isSeekable: Bool {
        guard let sink = unsafe sink else { return true }
        return unsafe sink.pointee.flags.has(CPI_SINK_SEEKABLE) && sink.pointee.write_at != nil
    }

    /// Replaces bytes that were written before, for example a count that is only known at the end.
    ///
    /// - Throws: `.misuse` if the output is not seekable or the bytes are not written yet; `.inputOutput`.
    public func overwrite(_ bytes: [UInt8], at offset: Int) throws(CoderError) {
        guard offset >= 0, isSeekable else { throw CoderError(.misuse, "the output cannot be changed afterwards") }
        guard let sink = unsafe sink else {
            guard bytes.count <= written.count, offset <= written.count - bytes.count else {
                throw CoderError(.misuse, "there is nothing yet to be replaced")
            }
            written.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            return
        }
        guard !bytes.isEmpty else { return }
        let status = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe sink.pointee.write_at?(sink.pointee.ctx, UInt64(offset), bytes.baseAddress!, UInt64(bytes.count))
                ?? CPI_IO
        }
        if let error = Self.error(status) { throw error }
    }

    /// Appends bytes and returns a status, for a C library that writes through a callback. For use in a `Bridge/`
    /// folder.
    @unsafe
    public func write(_ bytes: UnsafeBufferPointer<UInt8>) -> cpi_status {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return CPI_OK }
        guard let sink = unsafe sink else {
            unsafe written.append(contentsOf: bytes)
            return CPI_OK
        }
        return unsafe sink.pointee.write(sink.pointee.ctx, start, UInt64(bytes.count))
    }

    /// Returns the error for a status of `write`; nil for success.
    public static func error(_ status: cpi_status) -> CoderError? {
        switch status {
        case CPI_OK: nil
        case CPI_LIMIT: CoderError(.limitExceeded, "the output grows above its limit")
        default: CoderError(.inputOutput, "the output could not be written")
        }
    }
}
