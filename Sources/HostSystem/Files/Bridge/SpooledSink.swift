import CHostSystem
import Glibc
package import ImageModel

/// Collects output in an unnamed file until it is complete, for a target that does not support seeking.
package final class SpooledSink: OutputSink {
    private let file: File
    private let maxBytes: Int
    private var written = 0

    /// - Throws: `.cannotCreate`.
    package init(limits: DecodeLimits) throws(CoderError) {
        maxBytes = limits.maxOutputBytes
        var descriptor: Int32 = -1
        for folder in [environment("TMPDIR"), "/tmp", "/var/tmp"].compactMap({ $0 }) where descriptor < 0 {
            descriptor = unsafe host_create_unnamed(folder)
            // On a file system without unnamed files, a temporary file is unlinked at once.
            if descriptor < 0, errno == EOPNOTSUPP || errno == EISDIR {
                let name = "\(folder)/.coderhost-\(getpid())-\(monotonicNow()).tmp"
                descriptor = unsafe host_create_exclusive(name)
                if descriptor >= 0 { unsafe unlink(name) }
            }
        }
        guard descriptor >= 0 else {
            throw CoderError(
                .cannotCreate, "cannot create a temporary file for the output: \(SystemError.last)",
                hint: "set TMPDIR to a writable folder, or write to a file")
        }
        file = File(descriptor: descriptor)
    }

    package var isSeekable: Bool { true }

    package func write(_ bytes: RawSpan) throws(CoderError) {
        if maxBytes > 0 && bytes.byteCount > maxBytes - written {
            throw .limit("output", allowed: maxBytes, requested: written + bytes.byteCount)
        }
        try put(bytes, at: written)
        written += bytes.byteCount
    }

    package func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        try examine(offset, bytes.byteCount, written: written)
        try put(bytes, at: offset)
    }

    private func put(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        if let problem = file.write(bytes, at: offset) {
            throw CoderError(
                .inputOutput, "cannot write the temporary file for the output: \(problem)",
                hint: "set TMPDIR to a folder with free space, or write to a file")
        }
    }

    /// Copies all bytes to the target.
    package func copy(to sink: any OutputSink) throws(CoderError) {
        let piece = 1 << 20
        for start in stride(from: 0, to: written, by: piece) {
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try file.bytes(at: start, count: min(piece, written - start))
            } catch {
                throw CoderError(.inputOutput, "cannot read the temporary file for the output: \(error)")
            }
            try bytes.withSpan { (span: RawSpan) throws(CoderError) in try sink.write(span) }
        }
    }
}
