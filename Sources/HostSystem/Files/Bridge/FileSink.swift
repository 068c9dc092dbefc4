import CHostSystem
import Glibc
public import ImageModel

/// Writes a file that appears complete or not at all.
///
/// The bytes go to a file without a name in the target's folder, which the kernel removes when the process ends.
/// ``commit()`` names this file. On a file system without unnamed files, a hidden file is renamed instead. If a killed
/// process leaves such a hidden file, the next process that writes the same target removes it. A target that is not a
/// regular file (a pipe, `/dev/null`, standard output as `-`) is written directly.
public final class FileSink: OutputSink {
    /// Which existing targets may be replaced.
    package enum Replacement: Sendable, Hashable {
        /// None: the sink never writes to a file, pipe or device that exists, and never follows a dangling link.
        case nothing
        /// Regular files only; the sink never waits for a pipe or a device.
        case files(followingLinks: Bool)
        /// Regular files are replaced; the sink writes to pipes and devices directly and may wait for them.
        case anything
    }

    private enum Place {
        case direct
        case unnamed
        case hidden(String)
    }

    private let target: String
    /// The target with its links followed, if allowed: the sink replaces the linked file and keeps the link.
    private let real: String
    private let mayReplace: Bool
    private let place: Place
    private let file: File
    private let maxBytes: Int
    /// The number of bytes written so far.
    package private(set) var written = 0
    private var isCommitted = false

    /// Opens the output.
    ///
    /// - Parameter replacing: whether an existing target may be replaced; if false, an existing target is an error.
    /// - Throws: `.cannotCreate`.
    public convenience init(path: String, replacing: Bool, limits: DecodeLimits = .default) throws(CoderError) {
        try self.init(path: path, over: replacing ? .anything : .nothing, limits: limits)
    }

    /// Opens the output.
    ///
    /// - Throws: `.cannotCreate`, also if the existing target may not be replaced.
    package init(path: String, over existing: Replacement, limits: DecodeLimits = .default) throws(CoderError) {
        target = path
        mayReplace = existing != .nothing
        maxBytes = limits.maxOutputBytes
        if path == "-" {
            (real, place) = (path, .direct)
            file = File(descriptor: dup(STDOUT_FILENO))
            return
        }
        let found = FileStatus.of(path, followingLinks: existing.followsLinks)
        if let found, found.isDirectory {
            throw CoderError(.cannotCreate, "\(path) is a directory", hint: "name a file in it")
        }
        if let found, !existing.includes(found) {
            throw existing == .nothing ? Self.exists(path) : Self.isNoFile(path, found)
        }
        if !existing.followsLinks {
            real = path
        } else if let known = resolvedPath(path) {
            real = known
        } else {
            real = try Self.end(ofLink: path)
        }
        if let found, !found.isRegular {
            let descriptor = unsafe host_open_for_writing(path)
            guard descriptor >= 0 else { throw Self.failure(path, .last) }
            place = .direct
            file = File(descriptor: descriptor)
            return
        }
        guard !HiddenName.split(real).name.isEmpty else {
            throw CoderError(.cannotCreate, "\"\(path)\" is not a file name", hint: "name a file in an existing folder")
        }
        (file, place) = try Self.create(beside: real)
        if let found { _ = fchmod(file.descriptor, found.mode & 0o7777) }
    }

    /// Creates the file that receives the bytes before the commit.
    private static func create(beside path: String) throws(CoderError) -> (File, Place) {
        let (folder, _) = HiddenName.split(path)
        if FileStatus.of("/proc/self/fd") != nil {
            let descriptor = unsafe host_create_unnamed(folder.isEmpty ? "." : folder)
            if descriptor >= 0 {
                // The lock protects the file while it has a hidden name.
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

    /// Returns the target of a dangling link; the path itself if it is not a link.
    private static func end(ofLink path: String) throws(CoderError) -> String {
        var place = path
        for _ in 0..<16 {
            guard let next = linkTarget(place) else { return place }
            place = next.hasPrefix("/") ? next : HiddenName.split(place).folder + next
        }
        throw CoderError(.cannotCreate, "\(path) is a link to itself", hint: "choose another name")
    }

    private static func failure(_ path: String, _ error: SystemError) -> CoderError {
        missingFolder(of: path)
            ?? CoderError(
                .cannotCreate, "\(path) cannot be created: \(error)", hint: "check the folder and its permissions")
    }

    /// Returns the error for an output whose folder is missing; nil if the folder exists.
    package static func missingFolder(of path: String) -> CoderError? {
        let folder = HiddenName.split(path).folder
        guard !folder.isEmpty, FileStatus.of(folder) == nil, errno == ENOENT else { return nil }
        return CoderError(
            .cannotCreate, "\(path) cannot be created: \(SystemError(ENOENT))", hint: missingFolderRemedy(folder))
    }

    /// Returns the hint for an output whose folder is missing.
    package static func missingFolderRemedy(_ folder: String) -> String {
        "make the folder first: mkdir -p \(shellQuoted(folder))"
    }

    private static func isNoFile(_ path: String, _ found: FileStatus) -> CoderError {
        CoderError(
            .cannotCreate, "\(path) exists and is \(found.isLink ? "a link" : "not a regular file")",
            hint: "remove it, or choose another name")
    }

    private static func exists(_ path: String) -> CoderError {
        CoderError(.cannotCreate, "\(path) exists", hint: "choose another name, or allow replacing it")
    }

    /// Appends bytes.
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
            throw problem.writing(target)
        }
        written += bytes.byteCount
    }

    /// Whether the target is a regular file, which supports ``overwrite(_:at:)``.
    public var isSeekable: Bool { if case .direct = place { false } else { true } }

    /// Replaces bytes that were already written.
    public func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        guard isSeekable else { throw CoderError(.misuse, "the output does not support overwriting") }
        try examine(offset, bytes.byteCount, written: written)
        if let problem = file.write(bytes, at: offset) {
            throw problem.writing(target)
        }
    }

    /// Makes the output visible under its name.
    ///
    /// - Throws: `.inputOutput`; `.cannotCreate` if the target was created meanwhile and may not be replaced.
    public func commit() throws(CoderError) {
        switch place {
        case .direct: break
        case .hidden(let path):
            if mayReplace {
                try rename(path)
            } else if unsafe link(path, real) == 0 {
                // link(2) never replaces a file that was created meanwhile.
                unsafe unlink(path)
            } else if unsafe errno == EEXIST || host_rename_exclusive(path, real) != 0 {
                // Some file systems do not support hard links.
                throw errno == EEXIST ? Self.exists(target) : misplaced(.last)
            }
        case .unnamed:
            if unsafe host_give_name(file.descriptor, real) == 0 { break }
            guard errno == EEXIST else { throw misplaced(.last) }
            guard mayReplace else { throw Self.exists(target) }
            // An open file cannot be linked over an existing name; only a rename replaces it.
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

extension FileSink.Replacement {
    /// Whether the sink writes to the target of a link instead of the link.
    fileprivate var followsLinks: Bool {
        switch self {
        case .nothing: false
        case .files(let followsLinks): followsLinks
        case .anything: true
        }
    }

    /// Whether an existing file may be replaced or written to.
    fileprivate func includes(_ status: FileStatus) -> Bool {
        switch self {
        case .nothing: false
        case .files: status.isRegular
        case .anything: true
        }
    }
}

extension CoderError {
    /// The reader closed the pipe; commands do not report this error.
    package static let readerIsGone = CoderError(.inputOutput, "the reader closed the output")
}

/// Blocks until a non-blocking descriptor accepts bytes again.
package func waitForWriting(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&entry, 1, -1) > 0
}
