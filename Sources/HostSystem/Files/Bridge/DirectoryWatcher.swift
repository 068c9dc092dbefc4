import CHostSystem
import Glibc

/// Detects changes of plugin folders without a thread; one system call when nothing changed.
///
/// If a folder does not exist, its nearest existing parent is watched.
///
/// - Source: `inotify(7)`.
package final class DirectoryWatcher: Sendable {
    private let folders: [String]
    private let file: File?
    private let watched = Mutex<Set<String>>([])

    package init(_ folders: [String]) {
        self.folders = folders
        let descriptor = host_inotify()
        file = descriptor < 0 ? nil : File(descriptor: descriptor)
        rearm()
    }

    /// Watches every folder, or its nearest existing parent.
    private func rearm() {
        guard let file else { return }
        watched.withLock { watched in
            for folder in folders {
                var place = folder
                var missing: String?
                while true {
                    if unsafe host_inotify_watch(file.descriptor, place) >= 0 {
                        watched.insert(place)
                        // A folder created before the watch on its parent was installed needs its own watch.
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

    /// Returns whether something changed since the last call.
    package func takeChanges() -> Bool {
        // Without inotify, every call must scan.
        guard let file else { return true }
        var buffer = [UInt8](repeating: 0, count: 4096)
        var changed = false
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(file.descriptor, $0.baseAddress, $0.count) }
            if count <= 0 { break }
            changed = true
        }
        // A folder may have been created, or replaced by another one of the same name.
        if changed { rearm() }
        return changed
    }

    /// Blocks until a change or the timeout, then waits a moment for copies in progress to finish.
    package func wait(milliseconds: Int) -> Bool {
        guard let file else {
            _ = poll(nil, 0, min(1000, Int32(clamping: milliseconds)))
            return true
        }
        var entry = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, Int32(clamping: milliseconds)) > 0 else { return false }
        _ = poll(nil, 0, Self.settleMilliseconds)
        return true
    }

    /// Longer than a burst of renames, and short compared with the promised second.
    private static let settleMilliseconds: Int32 = 100
}
