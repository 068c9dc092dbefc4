import Glibc

/// An empty folder of one test, removed together with this object.
///
/// Only its owner may write in it or above it, apart from the sticky /tmp.
public final class TemporaryDirectory: Sendable {
    /// The folder's absolute path, without a slash at the end.
    public let path: String

    public init() {
        var template = Array("\(Self.parent)/coderhost-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { fatalError("no temporary directory in \(Self.parent)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { removeTree(path) }

    /// The path of a file in it, whether or not the file is there.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file into it and answers its path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) -> String {
        let path = file(name)
        guard writeFile(path, bytes) else { fatalError("cannot write \(path)") }
        return path
    }

    /// Makes a folder in it and answers its path.
    @discardableResult
    public func folder(_ name: String) -> String {
        let path = file(name)
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { fatalError("cannot make \(path)") }
        return path
    }

    private static let parent: String = {
        guard let value = unsafe getenv("TMPDIR") else { return "/tmp" }
        let path = unsafe String(cString: value)
        return path.isEmpty ? "/tmp" : path
    }()
}

/// Writes a whole file, replacing what is there; false when that fails, for a link, and for a FIFO that nobody reads.
public func writeFile(_ path: String, _ bytes: [UInt8]) -> Bool {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

private func removeTree(_ path: String) {
    if unsafe unlink(path) == 0 { return }
    guard let folder = unsafe opendir(path) else { return }
    while let entry = unsafe readdir(folder) {
        let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { removeTree("\(path)/\(name)") }
    }
    unsafe closedir(folder)
    unsafe rmdir(path)
}
