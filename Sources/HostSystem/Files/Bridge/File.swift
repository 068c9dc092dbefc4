import CHostSystem
package import Glibc
package import ImageModel
package import Synchronization

/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32) { self.code = code }
    /// The error of the most recent system call.
    package static var last: SystemError { SystemError(errno) }
    /// The file is not the version that was examined.
    package static let stale = SystemError(ESTALE)

    /// Whether a retry may succeed: memory, processes or descriptors ran out.
    package var isShortage: Bool { [ENOMEM, EAGAIN, EMFILE, ENFILE, ENOBUFS].contains(code) }

    /// Returns the error for a failed write to `name`, with a hint.
    package func writing(_ name: String) -> CoderError {
        let hint =
            switch code {
            case ENOSPC, EDQUOT: "free some space, or write to another place"
            case EBADF: "the output is closed: write to a file"
            default: "write to another place"
            }
        return CoderError(.inputOutput, "\(name) cannot be written: \(self)", hint: hint)
    }

    package var description: String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

/// What distinguishes one version of a file from another.
package struct FileIdentity: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int
    package var modified: Int
    package var changed: Int
}

/// The properties of a file on which the host bases its decisions.
package struct FileStatus: Sendable, Hashable {
    package var identity: FileIdentity
    package var mode: UInt32
    package var owner: UInt32

    package init(_ raw: stat) {
        identity = FileIdentity(
            device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino), size: Int(raw.st_size),
            modified: Int(raw.st_mtim.tv_sec) &* 1_000_000_000 &+ Int(raw.st_mtim.tv_nsec),
            changed: Int(raw.st_ctim.tv_sec) &* 1_000_000_000 &+ Int(raw.st_ctim.tv_nsec))
        mode = raw.st_mode
        owner = raw.st_uid
    }

    package var isRegular: Bool { mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
    package var isPipe: Bool { mode & S_IFMT == S_IFIFO }
    package var size: Int { identity.size }

    /// Returns the status of the file at `path`; nil if there is none.
    package static func of(_ path: String, followingLinks: Bool = true) -> FileStatus? {
        var raw = stat()
        let status = unsafe followingLinks ? stat(path, &raw) : lstat(path, &raw)
        return status == 0 ? FileStatus(raw) : nil
    }
}

/// An open file, closed with its last reference.
package final class File: Sendable {
    package let descriptor: Int32

    /// How many opens failed because the process or the system had too many open files.
    package static let shortages = Atomic<Int>(0)

    /// Takes ownership of a descriptor.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Opens a file for reading; never waits for the other end of a FIFO.
    package init(reading path: String) throws(SystemError) {
        let result = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard result >= 0 else {
            let error = SystemError.last
            if [EMFILE, ENFILE].contains(error.code) { Self.shortages.add(1, ordering: .relaxed) }
            throw error
        }
        descriptor = result
    }

    deinit { close(descriptor) }

    package func status() throws(SystemError) -> FileStatus {
        var raw = stat()
        if unsafe fstat(descriptor, &raw) != 0 { throw .last }
        return FileStatus(raw)
    }

    /// Reads up to `count` bytes from `offset`; returns fewer only at the end of the file.
    package func bytes(at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let start = filled
            let done = unsafe result.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress! + start, count - start, offset + start)
            }
            if done < 0 {
                if errno == EINTR { continue }
                throw .last
            }
            if done == 0 { break }
            filled += done
        }
        result.removeLast(count - filled)
        return result
    }
}

extension File {
    /// Writes all bytes from `offset` on to a file that is open for writing; returns the error, if any.
    package func write(_ bytes: RawSpan, at offset: Int) -> SystemError? {
        unsafe bytes.withUnsafeBytes { buffer in
            var at = 0
            while at < buffer.count {
                let count = unsafe pwrite(descriptor, buffer.baseAddress! + at, buffer.count - at, offset + at)
                if count < 0 && errno != EINTR { return .last }
                at += max(0, count)
            }
            return nil
        }
    }
}

/// Returns the names in a directory that begin with `stem`, sorted by their bytes.
package func directoryEntries(_ path: String, beginningWith stem: String = "") throws(SystemError) -> [String] {
    guard let stream = unsafe opendir(path) else { throw .last }
    return unsafe entries(stream, beginningWith: stem)
}

/// Returns the names in an open directory.
package func directoryEntries(_ folder: File) throws(SystemError) -> [String] {
    // The stream takes ownership of a descriptor and moves its position, so it gets a descriptor of its own.
    let own = unsafe host_open_in_folder(folder.descriptor, ".", 2)
    if own < 0 { throw .last }
    guard let stream = unsafe fdopendir(own) else {
        let error = SystemError.last
        close(own)
        throw error
    }
    return unsafe entries(stream)
}

private func entries(_ stream: OpaquePointer, beginningWith stem: String = "") -> [String] {
    defer { unsafe closedir(stream) }
    var names: [String] = []
    let length = stem.utf8.count
    while let entry = unsafe readdir(stream) {
        unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
            unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                // A shared folder holds many foreign files, so only matching names become strings.
                guard unsafe strncmp(name, stem, length) == 0, unsafe strcmp(name, ".") != 0,
                    unsafe strcmp(name, "..") != 0
                else { return }
                unsafe names.append(String(cString: name))
            }
        }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}

/// Returns the path without links and dots; nil if a part of it does not exist.
package func resolvedPath(_ path: String) -> String? {
    guard let result = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(result) }
    return unsafe String(cString: result)
}

/// Returns the target of a symbolic link; nil if the path is not a link.
package func linkTarget(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink(path, &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// Returns the value of an environment variable; nil if it is not set.
package func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
}

/// Returns an environment variable that names places to load code from; nil in a process with raised privileges.
package func trustedEnvironment(_ name: String) -> String? {
    guard let value = unsafe host_secure_getenv(name) else { return nil }
    return unsafe String(cString: value)
}

/// Whether this process runs as root.
package let isRoot = geteuid() == 0

/// Whether this process has more privileges than its parent: set-user-ID, or file capabilities.
package let isPrivileged = host_is_privileged() != 0

/// Whether every argument is valid UTF-8; elsewhere U+FFFD replaces the invalid bytes.
package let commandLineIsText: Bool = {
    var index: Int32 = 0
    while let word = unsafe host_argument(index) {
        if unsafe String(validatingCString: word) == nil { return false }
        index += 1
    }
    return true
}()

/// The arguments, with the program name first.
///
/// `CommandLine` reads them from `/proc` and is empty if `/proc` is not mounted.
package let commandLineWords: [String] = {
    var words: [String] = []
    while let word = unsafe host_argument(Int32(words.count)) { words.append(unsafe String(cString: word)) }
    return words
}()

/// The path of the running executable.
package let executablePath = linkTarget("/proc/self/exe") ?? startedPath

/// The path that the kernel received at the start, for a system without `/proc`.
private var startedPath: String? {
    guard let name = unsafe host_executable_name() else { return nil }
    return resolvedPath(unsafe String(cString: name))
}

/// Removes a file or folder that an ended process left under a ``HiddenName``.
///
/// A process that uses the file holds its lock, which the kernel releases when the process ends.
///
/// - Returns: false if another process uses it, if that cannot be determined, or if it cannot be removed.
package func removeAbandoned(_ path: String, isFolder: Bool = false) -> Bool {
    let descriptor = unsafe host_open_itself(path)
    guard descriptor >= 0 else { return errno == ENOENT }
    let file = File(descriptor: descriptor)
    guard host_lock(descriptor) == 0, let status = try? file.status(), status.owner == geteuid(),
        isFolder ? status.isDirectory : status.isRegular,
        FileStatus.of(path, followingLinks: false)?.identity.inode == status.identity.inode
    else { return false }
    if isFolder { removeContents(path) }
    return unsafe (isFolder ? rmdir(path) : unlink(path)) == 0
}

/// Removes everything in a folder.
func removeContents(_ folder: String, depth: Int = 8) {
    for name in (try? directoryEntries(folder)) ?? [] where unsafe unlink("\(folder)/\(name)") != 0 && depth > 0 {
        removeContents("\(folder)/\(name)", depth: depth - 1)
        unsafe rmdir("\(folder)/\(name)")
    }
}

/// Returns how many files this process may have open; nil if unknown.
package func openFileLimit() -> Int? { Machine.limit(of: RLIMIT_NOFILE) }
