import CHostSystem
import Glibc

/// Reads and writes the host's own small files: settings, trust, quarantine.
package enum StateFile {
    /// The size limit; a larger file was not written by the host.
    package static let maxBytes = 64 << 10

    /// Reads a small regular file; nil if it does not exist.
    ///
    /// - Throws: SystemError; EFBIG for more than 64 KiB, EINVAL for anything but a regular file.
    package static func read(_ path: String) throws(SystemError) -> [UInt8]? {
        guard let before = FileStatus.of(path) else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .last
        }
        // Opening a device can have side effects.
        guard before.isRegular else { throw SystemError(EINVAL) }
        let file: File
        do throws(SystemError) { file = try File(reading: path) } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        guard try file.status().size <= maxBytes else { throw SystemError(EFBIG) }
        return try file.bytes(at: 0, count: maxBytes)
    }

    /// Creates a folder and its missing parents, accessible to the owner only.
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

    /// Writes a file that appears complete or not at all, replacing the old one.
    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(SystemError) {
        let (file, hidden) = try HiddenName.create(beside: path) { unsafe host_create_private($0) }
        var problem = bytes.withSpan { file.write($0, at: 0) }
        if problem == nil && fchmod(file.descriptor, mode_t(mode)) != 0 { problem = .last }
        // Without fsync, a power failure could keep the name and lose the bytes.
        if problem == nil && fsync(file.descriptor) != 0 { problem = .last }
        if unsafe problem == nil && rename(hidden, path) != 0 { problem = .last }
        if let problem {
            unsafe unlink(hidden)
            throw problem
        }
    }

    /// Removes a file; returns false if it did not exist.
    @discardableResult
    package static func remove(_ path: String) throws(SystemError) -> Bool {
        if unsafe unlink(path) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last
    }
}

/// A lock on a folder whose files several processes change.
///
/// The lock is advisory: a stopped process never blocks the others.
package final class FolderLock {
    private var file: File?

    /// Takes the lock; nil if the lock file cannot be opened; after one second, returns without the lock.
    package init?(_ path: String) {
        let descriptor = unsafe host_open_lock(path)
        if descriptor < 0 { return nil }
        file = File(descriptor: descriptor)
        for _ in 0..<Self.attempts {
            if host_lock(descriptor) == 0 { return }
            usleep(Self.pause)
        }
    }

    package func release() { file = nil }

    private static let attempts = 500
    private static let pause: UInt32 = 2000
}
