import CHostSystem
import Glibc
public import ImageModel

/// Writes a file that appears complete or not at all.
///
/// Bytes go to a file without a name in the target's folder, which is gone when the process ends, however it ends;
/// ``commit()`` names it. Where the file system has no such files, a hidden one beside the target is renamed; what a
/// process that was killed leaves of that kind, the next one that writes the same target removes. A target that is no
/// regular file (a pipe, `/dev/null`, standard output as `-`) is written directly.
public final class FileSink: OutputSink {
    private enum Place {
        case direct
        case unnamed
        case hidden(String)
    }

    private let target: String
    /// The target with links followed, so that the file it names is replaced and not the link.
    private let real: String
    private let replacing: Bool
    private let place: Place
    private let file: File
    private let maxBytes: Int
    private var written = 0
    private var isCommitted = false

    /// Opens the output.
    ///
    /// - Throws: `.cannotCreate`; `.cannotCreate` too when the target exists and `replacing` is false.
    public init(path: String, replacing: Bool, limits: DecodeLimits = .default) throws(CoderError) {
        target = path
        self.replacing = replacing
        maxBytes = limits.maxOutputBytes
        let existing = path == "-" ? nil : FileStatus.of(path)
        if let known = resolvedPath(path) { real = known } else { real = try Self.end(ofLink: path) }
        if path == "-" {
            place = .direct
            file = File(descriptor: dup(STDOUT_FILENO))
            return
        }
        if let existing, existing.isDirectory {
            throw CoderError(.cannotCreate, "\(path) is a directory", hint: "name a file in it")
        }
        if let existing, !existing.isRegular {
            let descriptor = unsafe host_open_for_writing(path)
            guard descriptor >= 0 else { throw Self.failure(path, .last) }
            place = .direct
            file = File(descriptor: descriptor)
            return
        }
        if existing != nil && !replacing { throw Self.exists(path) }
        guard !HiddenName.split(real).name.isEmpty else {
            throw CoderError(.cannotCreate, "\"\(path)\" names no file", hint: "name a file in a folder that exists")
        }
        (file, place) = try Self.create(beside: real)
        if let existing { _ = fchmod(file.descriptor, existing.mode & 0o7777) }
    }

    /// Opens a file that nobody takes for the output yet.
    private static func create(beside path: String) throws(CoderError) -> (File, Place) {
        let (folder, _) = HiddenName.split(path)
        if FileStatus.of("/proc/self/fd") != nil {
            let descriptor = unsafe host_create_unnamed(folder.isEmpty ? "." : folder)
            if descriptor >= 0 {
                // For the moment in which it has a hidden name.
                _ = host_lock(descriptor)
                return (File(descriptor: descriptor), .unnamed)
            }
        }
        do throws(SystemError) {
            let (file, name) = try HiddenName.create(beside: path) { unsafe host_create_exclusive($0) }
            return (file, .hidden(name))
        } catch {
            throw failure(path, error)
        }
    }

    /// Where a link leads that leads nowhere yet; the path itself when it is none.
    private static func end(ofLink path: String) throws(CoderError) -> String {
        var place = path
        for _ in 0..<16 {
            guard let next = linkTarget(place) else { return place }
            place = next.hasPrefix("/") ? next : HiddenName.split(place).folder + next
        }
        throw CoderError(.cannotCreate, "\(path) is a link that leads to itself", hint: "choose another name")
    }

    private static func failure(_ path: String, _ error: SystemError) -> CoderError {
        CoderError(.cannotCreate, "\(path) cannot be created: \(error)", hint: "check the folder and its permissions")
    }

    private static func exists(_ path: String) -> CoderError {
        CoderError(.cannotCreate, "\(path) exists", hint: "choose another name, or allow it to be replaced")
    }

    public func write(_ bytes: RawSpan) throws(CoderError) {
        if maxBytes > 0 && bytes.byteCount > maxBytes - written {
            throw .limit("output", allowed: maxBytes, requested: written + bytes.byteCount)
        }
        let problem = unsafe bytes.withUnsafeBytes { buffer -> SystemError? in
            var at = 0
            while at < buffer.count {
                let count = unsafe Glibc.write(file.descriptor, buffer.baseAddress! + at, buffer.count - at)
                if count < 0 {
                    if errno == EINTR { continue }
                    if errno == EAGAIN && waitForWriting(file.descriptor) { continue }
                    return .last
                }
                at += count
            }
            return nil
        }
        if let problem {
            if problem.code == EPIPE { throw .readerIsGone }
            throw CoderError(.inputOutput, "\(target) cannot be written: \(problem)", hint: "check the free space")
        }
        written += bytes.byteCount
    }

    public var isSeekable: Bool { if case .direct = place { false } else { true } }

    public func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        guard isSeekable else { throw CoderError(.misuse, "the output cannot be changed afterwards") }
        try examine(offset, bytes.byteCount, written: written)
        if let problem = file.write(bytes, at: offset) {
            throw CoderError(.inputOutput, "\(target) cannot be written: \(problem)", hint: "check the free space")
        }
    }

    /// Makes the output visible under its name.
    ///
    /// - Throws: `.inputOutput`; `.cannotCreate` when the target came to exist meanwhile and may not be replaced.
    public func commit() throws(CoderError) {
        switch place {
        case .direct: break
        case .hidden(let path):
            // A link cannot take the place of a file that came in between; some file systems have none.
            if unsafe !replacing && link(path, real) == 0 {
                unsafe unlink(path)
            } else if !replacing && errno == EEXIST {
                throw Self.exists(target)
            } else {
                try rename(path)
            }
        case .unnamed:
            if unsafe host_give_name(file.descriptor, real) == 0 { break }
            guard errno == EEXIST else { throw misplaced(.last) }
            guard replacing else { throw Self.exists(target) }
            // A file cannot be given the name of another one; it can only be renamed to it.
            let hidden: String
            do throws(SystemError) {
                hidden = try HiddenName.claim(beside: real) { candidate in
                    unsafe host_give_name(file.descriptor, candidate) == 0 ? nil : .last
                }
            } catch {
                throw misplaced(error)
            }
            do throws(CoderError) { try rename(hidden) } catch {
                unsafe unlink(hidden)
                throw error
            }
        }
        isCommitted = true
    }

    private func rename(_ path: String) throws(CoderError) {
        if unsafe Glibc.rename(path, real) != 0 { throw misplaced(.last) }
    }

    private func misplaced(_ error: SystemError) -> CoderError {
        CoderError(.inputOutput, "\(target) cannot be put in place: \(error)")
    }

    deinit {
        if case .hidden(let path) = place, !isCommitted { unsafe unlink(path) }
    }
}

extension CoderError {
    /// A pipe whose other end was closed: nothing that anybody has to be told.
    package static let readerIsGone = CoderError(.inputOutput, "nobody reads the output any more")
}
