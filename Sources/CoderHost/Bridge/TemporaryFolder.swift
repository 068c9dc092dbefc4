import Glibc

/// A folder for files that nobody needs later; it goes, with the files in it, when the last reference goes.
package final class TemporaryFolder {
    package let path: String

    /// Makes one in `$TMPDIR` or `/tmp` that nobody else can look into.
    package init() throws(SystemError) {
        let place = environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(place)/coderhost-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .last }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    deinit {
        for name in (try? directoryEntries(path)) ?? [] { unsafe unlink(file(name)) }
        unsafe rmdir(path)
    }
}
