import Glibc
import HostSystem

/// Checks whether another user could place code in a plugin folder.
///
/// A folder is trusted if the folder, all its parents and the plugin file belong to root or to the user of this
/// process, and no other user can write to them. A parent with the sticky bit, such as `/tmp`, is allowed: other users
/// cannot replace our entries in it. In a process of root or with raised privileges, everything must belong to root.
enum PathTrust {
    struct Doubt: Hashable {
        /// The path component that is not trusted.
        var component: String
        package var reason: String
        package var remedy: String
    }

    /// The result for a folder and all its parents.
    struct Chain {
        /// The first untrusted component, starting from the root.
        var doubt: Doubt?
        /// Whether every component belongs to root, and only root can write it.
        var isRoots = false
        package var identity: FileIdentity?
    }

    /// Returns the first untrusted component of a folder's path, starting from the root.
    package static func examine(directory path: String) -> Doubt? { chain(of: path).doubt }

    /// Checks a folder and all its parents.
    ///
    /// If the folder does not exist, its nearest existing parent decides, because its owner could create the folder.
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
                // The folder existed a moment ago.
                result.doubt = result.doubt ?? Doubt(component: name, reason: "it disappeared", remedy: "try again")
                break
            }
            result.isRoots = result.isRoots && status.owner == 0
            result.identity = status.identity
            if result.doubt == nil { result.doubt = examine(name, status, isLast: index == names.count - 1) }
        }
        result.isRoots = result.isRoots && result.doubt == nil
        return result
    }

    /// Checks a file itself.
    package static func examine(file path: String, _ status: FileStatus) -> Doubt? {
        privilege(of: path, status) ?? examine(path, status, isLast: true)
    }

    /// Checks a file for set-user-ID and set-group-ID; every trust policy refuses these.
    static func privilege(of path: String, _ status: FileStatus) -> Doubt? {
        guard status.mode & (S_ISUID | S_ISGID) != 0 else { return nil }
        return Doubt(
            component: path, reason: "it is set-user-ID or set-group-ID", remedy: "chmod ug-s \(shellQuoted(path))")
    }

    private static func examine(_ path: String, _ status: FileStatus, isLast: Bool) -> Doubt? {
        let user = isPrivileged ? 0 : geteuid()
        if status.owner != 0 && status.owner != user {
            return Doubt(
                component: path, reason: "it belongs to user \(status.owner), not to root or you",
                remedy: "check its origin; move the plugin into a folder of your own"
                    + ", or trust the file: coderhost plugin trust FILE")
        }
        let isSticky = status.mode & S_ISVTX != 0 && status.isDirectory && !isLast
        if status.mode & (S_IWGRP | S_IWOTH) != 0 && !isSticky {
            let who = status.mode & S_IWOTH != 0 ? "any user" : "its group"
            // A sticky folder is meant to be shared, so the remedy is not to change its mode.
            let isShared = status.isDirectory && status.mode & S_ISVTX != 0
            return Doubt(
                component: path, reason: "\(who) can write to it",
                remedy: isShared
                    ? "move the plugin into a folder of your own" : "chmod go-w \(shellQuoted(path))")
        }
        return nil
    }
}
