import Glibc

/// The kind of file at a path.
enum FileKind {
    /// Whether it is a regular file or missing; opening other kinds may block, and opening a missing file reports it.
    static func mayBeRead(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return true }
        return status.st_mode & S_IFMT == S_IFREG
    }
}
