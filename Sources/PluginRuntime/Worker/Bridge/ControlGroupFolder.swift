import CHostSystem
import Glibc
import HostSystem
import ImageProcessing

/// A folder of the cgroup v2 file system: one control group.
package struct ControlGroupFolder: Sendable, Hashable {
    let path: String

    /// Reads a file of the group without its final line feed; nil if it does not exist.
    func read(_ name: String) -> String? {
        guard let file = try? File(reading: "\(path)/\(name)"), let bytes = try? file.bytes(at: 0, count: 1 << 16)
        else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// Writes to a file of the group.
    func write(_ text: String, to name: String) throws(SystemError) {
        let file = try open(name)
        if let error = Array(text.utf8).withSpan({ file.write($0, at: 0) }) { throw error }
    }

    /// Opens a file of the group for writing.
    func open(_ name: String) throws(SystemError) -> File {
        let descriptor = unsafe host_open_for_writing("\(path)/\(name)")
        guard descriptor >= 0 else { throw .last }
        return File(descriptor: descriptor)
    }

    /// Creates a child group.
    ///
    /// - Parameter orFind: Whether an existing group is accepted.
    func makeChild(_ name: String, orFind: Bool = false) throws(SystemError) -> ControlGroupFolder {
        let child = ControlGroupFolder(path: "\(path)/\(name)")
        if unsafe mkdir(child.path, 0o755) != 0, !orFind || errno != EEXIST { throw .last }
        return child
    }

    /// Removes the group; returns false while it contains a process or a group.
    func remove() -> Bool { unsafe rmdir(path) == 0 || errno == ENOENT }

    /// Whether the service manager has delegated the group to the processes in it.
    var isDelegated: Bool {
        // systemd sets one of these attributes: the first for a user's groups, the second for the system's.
        ["user.delegate", "trusted.delegate"].contains { (name: String) in
            unsafe host_has_attribute(path, name, "1") != 0
        }
    }
}
