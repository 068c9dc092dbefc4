import CHostSystem
import Glibc
import ImageProcessing
import Synchronization

/// Notices that a plugin folder changed; costs one system call when nothing did, and no thread.
///
/// A folder that does not exist yet is noticed through its nearest existing parent.
///
/// - Source: `inotify(7)`.
final class DirectoryWatcher: Sendable {
    private let folders: [String]
    private let file: File?
    private let watched = Mutex<Set<String>>([])

    init(_ folders: [String]) {
        self.folders = folders
        let descriptor = host_inotify()
        file = descriptor < 0 ? nil : File(descriptor: descriptor)
        rearm()
    }

    /// Watches every folder, or the nearest parent that exists.
    private func rearm() {
        guard let file else { return }
        watched.withLock { watched in
            for folder in folders {
                var place = folder
                var missing: String?
                while true {
                    if unsafe host_inotify_watch(file.descriptor, place) >= 0 {
                        watched.insert(place)
                        // What came into being before its parent was watched has to be watched itself.
                        guard let child = missing, FileStatus.of(child)?.isDirectory == true else { break }
                        place = folder
                        missing = nil
                        continue
                    }
                    if place == "/" || place == "." { break }
                    missing = place
                    let parent = FileName(place).folder
                    place = parent.isEmpty ? "." : parent.utf8.count == 1 ? "/" : String(parent.dropLast())
                }
            }
        }
    }

    /// Whether something happened since the last call.
    func takeChanges() -> Bool {
        // Without inotify, every look is a new one.
        guard let file else { return true }
        var buffer = [UInt8](repeating: 0, count: 4096)
        var changed = false
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(file.descriptor, $0.baseAddress, $0.count) }
            if count <= 0 { break }
            changed = true
        }
        // A folder may have come into being, or been replaced by another of the same name.
        if changed { rearm() }
        return changed
    }

    /// Blocks until something happens or time is up; files that are still being copied get a moment to settle.
    func wait(milliseconds: Int) -> Bool {
        guard let file else {
            _ = poll(nil, 0, min(1000, Int32(clamping: milliseconds)))
            return true
        }
        var entry = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, Int32(clamping: milliseconds)) > 0 else { return false }
        _ = poll(nil, 0, Self.settleMilliseconds)
        return true
    }

    /// Long enough for a burst of renames, short beside the second that is promised.
    private static let settleMilliseconds: Int32 = 100
}
