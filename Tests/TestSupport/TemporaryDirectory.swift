import Glibc

/// An empty folder for one test, removed with this object.
///
/// Only its owner may write to it and to the folders above it, except the sticky /tmp.
public final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash.
    public let path: String

    /// Creates the folder in TMPDIR or /tmp.
    public init() {
        var template = Array("\(Self.parent)/coderhost-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { fatalError("no temporary directory in \(Self.parent)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { removeTree(path) }

    /// Returns the path of a file in the folder, whether it exists or not.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file into the folder and returns its path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) -> String {
        let path = file(name)
        guard writeFile(path, bytes) else { fatalError("cannot write \(path)") }
        return path
    }

    /// Creates a subfolder and returns its path.
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

/// Writes a whole file, replacing an existing one; returns false on failure, for a link, and for a FIFO without a
/// reader.
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
