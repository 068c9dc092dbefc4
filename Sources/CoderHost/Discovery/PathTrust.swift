import Glibc

/// Judges whether somebody else could put code where plugins are looked for.
///
/// A folder is trusted when it, every folder above it and the file belong to root or to the user of this process, and
/// nobody else can write them. A folder with the sticky bit, such as `/tmp`, may stand above: nobody else can replace
/// an entry in it that is ours. In a process of root or with raised privileges, everything has to belong to root.
enum PathTrust {
    struct Doubt: Hashable {
        /// The component that is not trusted.
        var component: String
        var reason: String
        var remedy: String
    }

    /// What is known of a folder and all above it.
    struct Chain {
        /// The first doubtful component from the root down.
        var doubt: Doubt?
        /// Whether every component belongs to root, and only root can write it.
        var isRoots = false
        var identity: FileIdentity?
    }

    /// The first doubtful component of a folder's chain, from the root down.
    static func examine(directory path: String) -> Doubt? { chain(of: path).doubt }

    /// Looks at a folder and all above it.
    ///
    /// Of a folder that does not exist the nearest that does decides who could make it.
    static func chain(of path: String) -> Chain {
        var place = path
        while resolvedPath(place) == nil, place != "/", place != "." { place = parentFolder(place) }
        guard let resolved = resolvedPath(place) else { return Chain() }
        var result = Chain(isRoots: true)
        var component = ""
        let names = resolved.split(separator: "/")
        for index in -1..<names.count {
            if index >= 0 { component += "/\(names[index])" }
            let name = index < 0 ? "/" : component
            guard let status = FileStatus.of(name) else {
                // It was there a moment ago.
                result.doubt = result.doubt ?? Doubt(component: name, reason: "it went away", remedy: "try again")
                break
            }
            result.isRoots = result.isRoots && status.owner == 0
            result.identity = status.identity
            if result.doubt == nil { result.doubt = examine(name, status, isLast: index == names.count - 1) }
        }
        result.isRoots = result.isRoots && result.doubt == nil
        return result
    }

    /// The doubt about a file itself.
    static func examine(file path: String, _ status: FileStatus) -> Doubt? {
        privilege(of: path, status) ?? examine(path, status, isLast: true)
    }

    /// The doubt about a file that would give its privileges away; no policy lifts it.
    static func privilege(of path: String, _ status: FileStatus) -> Doubt? {
        guard status.mode & (S_ISUID | S_ISGID) != 0 else { return nil }
        return Doubt(
            component: path, reason: "it is set-user-ID or set-group-ID", remedy: "chmod ug-s \(shellQuoted(path))")
    }

    private static func examine(_ path: String, _ status: FileStatus, isLast: Bool) -> Doubt? {
        let user = isPrivileged ? 0 : geteuid()
        if status.owner != 0 && status.owner != user {
            return Doubt(
                component: path, reason: "it belongs to user \(status.owner), neither root nor you",
                remedy: "see who put it there; move the plugin into a folder of your own"
                    + ", or vouch for the file: coderhost plugin trust FILE")
        }
        let isSticky = status.mode & S_ISVTX != 0 && status.isDirectory && !isLast
        if status.mode & (S_IWGRP | S_IWOTH) != 0 && !isSticky {
            let who = status.mode & S_IWOTH != 0 ? "everybody" : "its group"
            // A folder for everybody is one on purpose.
            let isShared = status.isDirectory && status.mode & S_ISVTX != 0
            return Doubt(
                component: path, reason: "\(who) can write it",
                remedy: isShared
                    ? "move the plugin into a folder of your own" : "chmod go-w \(shellQuoted(path))")
        }
        return nil
    }
}

/// A path as a shell takes it.
package func shellQuoted(_ path: String) -> String {
    let plain = path.utf8.allSatisfy { byte in
        "/._-+,:@%".utf8.contains(byte) || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A
            || byte >= 0x30 && byte <= 0x39
    }
    return plain
        ? path : "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
