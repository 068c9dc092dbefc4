import Glibc

/// Judges whether somebody else could put code where plugins are looked for.
///
/// A folder is trusted when it, every folder above it and the file belong to root or to the user of this process, and
/// nobody else can write them. A folder with the sticky bit, such as `/tmp`, may stand above: nobody else can replace
/// an entry in it that is ours. In a process of root, everything has to belong to root.
enum PathTrust {
    struct Doubt: Hashable {
        /// The component that is not trusted.
        var component: String
        var reason: String
        var remedy: String
    }

    /// The first doubtful component of a folder's chain, from the root down.
    static func examine(directory path: String) -> Doubt? {
        guard let resolved = resolvedPath(path) else { return nil }
        var component = ""
        let names = resolved.split(separator: "/")
        if let doubt = examine("/", isLast: names.isEmpty) { return doubt }
        for (index, name) in names.enumerated() {
            component += "/\(name)"
            if let doubt = examine(component, isLast: index == names.count - 1) { return doubt }
        }
        return nil
    }

    /// The doubt about a file itself.
    static func examine(file path: String, _ status: FileStatus) -> Doubt? {
        if status.mode & (S_ISUID | S_ISGID) != 0 {
            return Doubt(
                component: path, reason: "it is set-user-ID or set-group-ID", remedy: "chmod ug-s \(quoted(path))")
        }
        return examine(path, status, isLast: true)
    }

    private static func examine(_ path: String, isLast: Bool) -> Doubt? {
        guard let status = FileStatus.of(path) else { return nil }
        return examine(path, status, isLast: isLast)
    }

    private static func examine(_ path: String, _ status: FileStatus, isLast: Bool) -> Doubt? {
        let user = geteuid()
        if status.owner != 0 && status.owner != user {
            return Doubt(
                component: path, reason: "it belongs to user \(status.owner), neither root nor you",
                remedy: user == 0 ? "chown root \(quoted(path))" : "move the plugins into a folder of your own")
        }
        let isSticky = status.mode & S_ISVTX != 0 && status.isDirectory && !isLast
        if status.mode & (S_IWGRP | S_IWOTH) != 0 && !isSticky {
            let who = status.mode & S_IWOTH != 0 ? "everybody" : "its group"
            return Doubt(component: path, reason: "\(who) can write it", remedy: "chmod go-w \(quoted(path))")
        }
        return nil
    }

    /// A path as a shell takes it.
    private static func quoted(_ path: String) -> String {
        let plain = path.utf8.allSatisfy { byte in
            "/._-+,:@%".utf8.contains(byte) || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A
                || byte >= 0x30 && byte <= 0x39
        }
        return plain
            ? path : "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
