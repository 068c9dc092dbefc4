import Glibc

enum Paths {
    /// A path that holds in every folder; nil where nothing stands there.
    static func absolute(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
