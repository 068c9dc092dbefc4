import CHostSystem
import Glibc
import ImageModel
import ImageProcessing

/// Keeps output in a file without a name until it is complete, for a target that cannot be changed afterwards.
final class SpooledSink: OutputSink {
    private let file: File
    private let maxBytes: Int
    private var written = 0

    /// - Throws: `.cannotCreate`.
    init(limits: DecodeLimits) throws(CoderError) {
        maxBytes = limits.maxOutputBytes
        var descriptor: Int32 = -1
        for folder in [environment("TMPDIR"), "/tmp", "/var/tmp"].compactMap({ $0 }) where descriptor < 0 {
            descriptor = unsafe host_create_unnamed(folder)
            // A file system without such files: one that loses its name at once comes near it.
            if descriptor < 0, errno == EOPNOTSUPP || errno == EISDIR {
                let name = "\(folder)/.coderhost-\(getpid())-\(monotonicNow()).tmp"
                descriptor = unsafe host_create_exclusive(name)
                if descriptor >= 0 { unsafe unlink(name) }
            }
        }
        guard descriptor >= 0 else {
            throw CoderError(
                .cannotCreate, "there is no place for the output on its way to a pipe: \(SystemError.last)",
                hint: "set TMPDIR to a folder that can be written, or write to a file")
        }
        file = File(descriptor: descriptor)
    }

    var isSeekable: Bool { true }

    func write(_ bytes: RawSpan) throws(CoderError) {
        if maxBytes > 0 && bytes.byteCount > maxBytes - written {
            throw .limit("output", allowed: maxBytes, requested: written + bytes.byteCount)
        }
        try put(bytes, at: written)
        written += bytes.byteCount
    }

    func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        try examine(offset, bytes.byteCount, written: written)
        try put(bytes, at: offset)
    }

    private func put(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        if let problem = file.write(bytes, at: offset) {
            throw CoderError(
                .inputOutput, "the output cannot be kept until it is complete: \(problem)",
                hint: "set TMPDIR to a folder with free space, or write to a file")
        }
    }

    /// Writes everything to the target.
    func copy(to sink: any OutputSink) throws(CoderError) {
        let piece = 1 << 20
        for start in stride(from: 0, to: written, by: piece) {
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try file.bytes(at: start, count: min(piece, written - start))
            } catch {
                throw CoderError(.inputOutput, "the output cannot be read back: \(error)")
            }
            try bytes.withSpan { (span: RawSpan) throws(CoderError) in try sink.write(span) }
        }
    }
}
