import CHostSystem
import Glibc

/// A folder for temporary files, removed with its content when the last reference is released.
///
/// If a killed process leaves such a folder, the next ``init()`` removes it.
package final class TemporaryFolder {
    package let path: String
    /// Open for its lock.
    private let folder: File

    /// Creates a folder in `$TMPDIR` or `/tmp` that only this user can read.
    package init() throws(SystemError) {
        let place = environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        let stem = "coderhost-temporary-"
        for name in (try? directoryEntries(place, beginningWith: stem)) ?? [] {
            _ = removeAbandoned("\(place)/\(name)", isFolder: true)
        }
        for _ in 0..<100 {
            var template = Array("\(place)/\(stem)XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else { throw .last }
            let made = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            let descriptor = unsafe host_open_itself(made)
            // Another process may have removed the folder before this process locked it.
            guard descriptor >= 0, let opened = HiddenName.hold(descriptor, at: made) else { continue }
            (path, folder) = (made, opened)
            return
        }
        throw SystemError(EEXIST)
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    deinit {
        removeContents(path)
        unsafe rmdir(path)
    }
}
