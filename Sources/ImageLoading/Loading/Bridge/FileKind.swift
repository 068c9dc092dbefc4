import Glibc

/// What stands at a path.
enum FileKind {
    /// Whether opening it says at once what is in it; also for what is not there, which opening says best.
    static func mayBeRead(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return true }
        return status.st_mode & S_IFMT == S_IFREG
    }
}
