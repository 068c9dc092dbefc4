import CHostSystem
import Glibc
public import ImageModel

/// Writes a file that appears complete or not at all.
///
/// Bytes go to a temporary file beside the target; ``commit()`` renames it. Without a commit nothing remains. A target
/// that is no regular file (a pipe, `/dev/null`, standard output as `-`) is written directly.
public final class FileSink: OutputSink {
    private let target: String
    private let temporary: String?
    private let file: File
    private let maxBytes: Int
    private var written = 0
    private var isCommitted = false

    /// Opens the output.
    ///
    /// - Throws: `.cannotCreate`; `.cannotCreate` too when the target exists and `replacing` is false.
    public init(path: String, replacing: Bool, limits: DecodeLimits = .default) throws(CoderError) {
        target = path
        maxBytes = limits.maxOutputBytes
        if path == "-" {
            temporary = nil
            file = File(descriptor: dup(STDOUT_FILENO))
            return
        }
        let existing = FileStatus.of(path)
        if let existing, existing.isDirectory {
            throw CoderError(.cannotCreate, "\(path) is a directory", hint: "name a file, or end the path with /")
        }
        if let existing, !existing.isRegular {
            let descriptor = unsafe host_open_for_writing(path)
            guard descriptor >= 0 else { throw Self.failure(path, .last) }
            temporary = nil
            file = File(descriptor: descriptor)
            return
        }
        if existing != nil && !replacing {
            throw CoderError(.cannotCreate, "\(path) exists", hint: "use --overwrite to replace it")
        }
        // A link is followed, so that the file it names is replaced and not the link.
        let real = existing == nil ? path : resolvedPath(path) ?? path
        let slash = real.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(real[...$0]) } ?? ""
        let name = slash.map { String(real[real.index(after: $0)...]) } ?? real
        var last = SystemError(EEXIST)
        for attempt in 0..<100 {
            let candidate = "\(folder).\(name.prefix(200)).\(getpid())-\(monotonicNow() % 1_000_000)-\(attempt).tmp"
            let descriptor = unsafe host_create_exclusive(candidate)
            if descriptor >= 0 {
                temporary = candidate
                file = File(descriptor: descriptor)
                if let existing { _ = fchmod(descriptor, existing.mode & 0o7777) }
                return
            }
            last = .last
            if last.code != EEXIST { break }
        }
        throw Self.failure(path, last)
    }

    private static func failure(_ path: String, _ error: SystemError) -> CoderError {
        CoderError(.cannotCreate, "\(path) cannot be created: \(error)", hint: "check the folder and its permissions")
    }

    public func write(_ bytes: RawSpan) throws(CoderError) {
        if maxBytes > 0 && bytes.byteCount > maxBytes - written {
            throw .limit("the output's byte count", allowed: maxBytes, requested: written + bytes.byteCount)
        }
        let problem = unsafe bytes.withUnsafeBytes { buffer -> SystemError? in
            var at = 0
            while at < buffer.count {
                let count = unsafe Glibc.write(file.descriptor, buffer.baseAddress! + at, buffer.count - at)
                if count < 0 {
                    if errno == EINTR { continue }
                    return .last
                }
                at += count
            }
            return nil
        }
        if let problem { throw CoderError(.inputOutput, "\(target) cannot be written: \(problem)", hint: "check the free space") }
        written += bytes.byteCount
    }

    /// Makes the output visible under its name.
    ///
    /// - Throws: `.inputOutput`.
    public func commit() throws(CoderError) {
        if let temporary {
            let real = FileStatus.of(target) == nil ? target : resolvedPath(target) ?? target
            if unsafe rename(temporary, real) != 0 {
                throw CoderError(.inputOutput, "\(target) cannot be put in place: \(SystemError.last)")
            }
        }
        isCommitted = true
    }

    deinit {
        if let temporary, !isCommitted { unsafe unlink(temporary) }
    }
}
