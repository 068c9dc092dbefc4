import CHostSystem
import Glibc

/// A folder for files that nobody needs later; it goes, with what is in it, when the last reference goes.
///
/// What a process that was killed left behind goes when the next one is made.
package final class TemporaryFolder {
    package let path: String
    /// Held open for its lock.
    private let folder: File

    /// Makes one in `$TMPDIR` or `/tmp` that nobody else can look into.
    package init() throws(SystemError) {
        let place = environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        let stem = "coderhost-temporary-"
        for name in (try? directoryEntries(place, beginningWith: stem)) ?? [] {
            _ = removeForsaken("\(place)/\(name)", isFolder: true)
        }
        for _ in 0..<100 {
            var template = Array("\(place)/\(stem)XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else { throw .last }
            let made = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            let descriptor = unsafe host_open_itself(made)
            // Another process may have taken it for forsaken before it was locked.
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
