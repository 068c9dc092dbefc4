import CHostSystem
import CoderHost
import Glibc
import ImageProcessing

/// The file system of this machine.
struct LocalDisk: DiskSystem {
    /// Throws the last system error if a call returned a negative number.
    private func check<N: SignedInteger>(_ result: N) throws(SystemError) -> N {
        if result < 0 { throw .last }
        return result
    }

    func now() -> Int64 { host_clock(0) }

    func running() -> (boot: String, time: Int64)? { Self.boot.map { ($0, host_clock(1)) } }

    private static let boot: String? = {
        guard let file = try? File(reading: "/proc/sys/kernel/random/boot_id"),
            let bytes = try? file.bytes(at: 0, count: 36), bytes.count == 36
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }()

    func user() -> (id: UInt32, group: UInt32) { (geteuid(), getegid()) }
    func pause() { usleep(1000) }

    func open(_ path: String) throws(SystemError) -> Int32 { try check(unsafe host_open_quietly(path)) }
    func openFolder(_ path: String) throws(SystemError) -> Int32 { try check(unsafe host_open_folder(path)) }
    func openLock(_ path: String) throws(SystemError) -> Int32 { try check(unsafe host_open_lock(path)) }

    /// Whether `/proc` is mounted, which `host_give_name` needs.
    private static let canGiveNames = FileStatus.of("/proc/self/fd") != nil

    func createUnnamed(in folder: String) throws(SystemError) -> Int32 {
        if !Self.canGiveNames { throw SystemError(EOPNOTSUPP) }
        return try check(unsafe host_create_private_unnamed(folder))
    }

    func create(_ path: String) throws(SystemError) -> Int32 { try check(unsafe host_create_private(path)) }
    func close(_ file: Int32) { _ = Glibc.close(file) }

    func read(_ file: Int32, at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
        var problem: SystemError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let done = unsafe pread(file, buffer.baseAddress! + filled, count - filled, offset + filled)
                if done == 0 { break }
                if done < 0 {
                    if errno == EINTR { continue }
                    problem = .last
                    break
                }
                filled += done
            }
        }
        if let problem { throw problem }
        return bytes
    }

    func write(_ file: Int32, _ bytes: RawSpan, at offset: Int) throws(SystemError) -> Int {
        while true {
            let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress!, $0.count, offset) }
            if count >= 0 { return count }
            if errno != EINTR { throw .last }
        }
    }

    func facts(_ file: Int32) throws(SystemError) -> FileFacts { try facts(in: file, "") }
    func facts(at path: String) throws(SystemError) -> FileFacts { try facts(in: host_working_folder(), path) }

    private func facts(in folder: Int32, _ name: String) throws(SystemError) -> FileFacts {
        var raw = host_file_facts()
        _ = try check(unsafe host_facts(folder, name, &raw))
        return FileFacts(raw)
    }

    func setDates(_ file: Int32, accessed: Int64?, modified: Int64?) throws(SystemError) {
        _ = try check(host_set_dates(file, accessed ?? .min, modified ?? .min))
    }

    func lock(_ file: Int32, _ kind: DiskLock) throws(SystemError) {
        _ = try check(flock(file, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB))
    }

    func synchronize(_ file: Int32, isFolder: Bool) throws(SystemError) {
        if !isFolder {
            _ = try check(fdatasync(file))
        } else if fsync(file) != 0, errno != EINVAL {
            // Some file systems do not support this call for folders.
            throw .last
        }
    }

    func giveName(_ file: Int32, _ path: String) throws(SystemError) {
        _ = try check(unsafe host_give_name(file, path))
    }

    func rename(_ path: String, to other: String) throws(SystemError) {
        _ = try check(unsafe Glibc.rename(path, other))
    }

    func unlink(_ path: String) throws(SystemError) { _ = try check(unsafe Glibc.unlink(path)) }
    /// Makes a folder for the owner alone: other users must not be able to place files that the cache would show.
    func makeFolder(_ path: String) throws(SystemError) { _ = try check(unsafe mkdir(path, 0o700)) }
    func removeFolder(_ path: String) throws(SystemError) { _ = try check(unsafe rmdir(path)) }

    func list(_ folder: String, _ visit: (_ name: String, FileFacts) -> Void) throws(SystemError) {
        let descriptor = try openFolder(folder)
        guard let stream = unsafe fdopendir(descriptor) else {
            let error = SystemError.last
            close(descriptor)
            throw error
        }
        defer { unsafe closedir(stream) }
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                if errno != 0 { throw .last }
                return
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name == "." || name == ".." { continue }
            guard let facts = try? facts(in: descriptor, name) else { continue }
            visit(name, facts)
        }
    }
}

extension FileFacts {
    init(_ raw: host_file_facts) {
        let kind: Kind =
            switch raw.mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .folder
            case S_IFLNK: .link
            default: .other
            }
        self.init(
            kind: kind, inode: raw.inode,
            links: Int(raw.links), size: Int(clamping: raw.size), allocated: Int(clamping: raw.allocated),
            dates: Dates(accessed: raw.accessed, modified: raw.modified, changed: raw.changed, born: raw.born),
            owner: raw.owner, group: raw.group, permissions: raw.mode & 0o7777)
    }
}

// MARK: Meanings of errors

extension SystemError {
    static let missing = SystemError(ENOENT)
    static let tooShort = SystemError(EIO)
    static let tooLarge = SystemError(EFBIG)
    static let replaced = SystemError(ESTALE)

    var isBusy: Bool { code == EWOULDBLOCK }
    var isMissing: Bool { isAbsent || code == ENOTDIR }
    /// Whether nothing is at the path, and no file is in the place of a folder.
    var isAbsent: Bool { code == ENOENT }
    var isTaken: Bool { code == EEXIST }
    var isDenied: Bool { code == EACCES || code == EPERM }
    var isFull: Bool { code == ENOSPC || code == EDQUOT }
    var isOtherDevice: Bool { code == EXDEV }
    /// Whether the file system does not support unnamed files. (Kernels before 3.11 read the flag as "a folder".)
    var meansNoUnnamedFiles: Bool { [EOPNOTSUPP, EISDIR, EINVAL, ENOSYS].contains(code) }

    private static let pruning = "coderhost cache prune --max-size SIZE"

    /// The hint for the user of a cache that met this error.
    var remedy: String {
        switch code {
        case ENOSPC: "free space on its file system, or give the cache a smaller maximum size: \(Self.pruning)"
        case EDQUOT: "free space of this user's quota, or give the cache a smaller maximum size: \(Self.pruning)"
        case EROFS: "the file system is mounted read-only; choose another cache directory"
        case EACCES, EPERM: "let this user write there, or choose another cache directory"
        case EIO: "the storage reported a fault; check the kernel log, or choose another cache directory"
        case EMFILE, ENFILE: "raise the limit for open files (ulimit -n)"
        case ENOTDIR, EISDIR, ELOOP:
            "remove the file that blocks the cache's folder or entry, or choose another cache directory"
        case ENAMETOOLONG: "choose a cache directory with a shorter path"
        case EFBIG: "raise the limit for file sizes (ulimit -f)"
        default: "check the cache directory and its file system"
        }
    }
}
