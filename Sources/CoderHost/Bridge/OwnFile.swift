import CHostSystem
import Glibc
import ImageProcessing

/// Small files that the host keeps for its user: settings, trust, quarantine.
package enum OwnFile {
    /// The largest that is read; what is larger is not ours.
    static let maxBytes = 64 << 10

    /// The bytes of a small regular file; nil where there is none.
    ///
    /// - Throws: SystemError; EFBIG where it is larger than 64 KiB, EINVAL where it is no regular file.
    package static func read(_ path: String) throws(SystemError) -> [UInt8]? {
        guard let before = FileStatus.of(path) else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .last
        }
        // Opening a device may do something.
        guard before.isRegular else { throw SystemError(EINVAL) }
        let file: File
        do throws(SystemError) { file = try File(reading: path) } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        guard try file.status().size <= maxBytes else { throw SystemError(EFBIG) }
        return try file.bytes(at: 0, count: maxBytes)
    }

    /// Makes a folder and those above it that are missing, for its owner alone.
    package static func makeFolder(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o700) == 0 { return }
        switch errno {
        case EEXIST:
            guard FileStatus.of(path)?.isDirectory == true else { throw SystemError(ENOTDIR) }
        case ENOENT:
            let parent = path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
            guard path.hasPrefix("/"), !parent.isEmpty else { throw SystemError(ENOENT) }
            try makeFolder(parent)
            if unsafe mkdir(path, 0o700) != 0 && errno != EEXIST { throw .last }
        default: throw .last
        }
    }

    /// Writes a file that appears complete or not at all, and replaces what was there.
    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(SystemError) {
        let (file, hidden) = try HiddenName.create(beside: path) { unsafe host_create_private($0) }
        var problem = bytes.withSpan { file.write($0, at: 0) }
        if problem == nil && fchmod(file.descriptor, mode_t(mode)) != 0 { problem = .last }
        // A name that survives a power failure without its bytes would be damage.
        if problem == nil && fsync(file.descriptor) != 0 { problem = .last }
        if unsafe problem == nil && rename(hidden, path) != 0 { problem = .last }
        if let problem {
            unsafe unlink(hidden)
            throw problem
        }
    }

    /// Takes a file away; false when there was none.
    @discardableResult
    package static func remove(_ path: String) throws(SystemError) -> Bool {
        if unsafe unlink(path) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last
    }
}

/// Held while a folder's files are changed by several processes.
///
/// Advice, too: who cannot have it within a few milliseconds goes on without, because a process that was stopped must
/// not stop others.
final class FolderLock {
    private var file: File?

    init?(_ path: String) {
        let descriptor = unsafe host_open_lock(path)
        if descriptor < 0 { return nil }
        file = File(descriptor: descriptor)
        for _ in 0..<Self.attempts {
            if host_lock(descriptor) == 0 { return }
            usleep(Self.pause)
        }
    }

    func release() { file = nil }

    private static let attempts = 500
    private static let pause: UInt32 = 2000
}
