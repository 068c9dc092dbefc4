import CoderHost
package import HostSystem

/// Finds the files in a folder and its subfolders, in the order of their names.
///
/// Hidden files and folders are left out. Links to folders are not followed, so a walk never leaves its folder and always
/// ends. Links to files are followed.
package struct FolderWalk {
    /// A file and the folders between it and the walked folder, with a trailing slash.
    package struct Found {
        package var path: String
        package var tree: String
    }

    /// Files must match one of these; no pattern accepts all files.
    var patterns: [GlobPattern]
    /// Folders to leave out below the walked one, for example the folder of the outputs.
    var excluded: [FileIdentity]
    /// Folders that cannot be read, with the reason.
    package private(set) var unread: [(path: String, error: SystemError)] = []

    package init(_ patterns: [GlobPattern], excluding excluded: [FileIdentity]) {
        self.patterns = patterns
        self.excluded = excluded
    }

    /// Returns the path of a file in a folder.
    package static func joined(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// Returns all files below a folder.
    package mutating func files(below root: String) -> [Found] {
        var found: [Found] = []
        let start = Self.joined(root, "")
        // Entries still to visit, the next one last.
        var waiting = [(name: "", isFolder: true)]
        while let (name, isFolder) = waiting.popLast() {
            guard isFolder else {
                if patterns.isEmpty || patterns.contains(where: { $0.matches(name) }) {
                    found.append(Found(path: start + name, tree: FileName(name).folder))
                }
                continue
            }
            do throws(SystemError) {
                let entries = try directoryEntries(start + name).filter { !$0.hasPrefix(".") }
                for entry in entries.reversed() {
                    let path = name + entry
                    guard let status = FileStatus.of(start + path, followingLinks: false) else { continue }
                    if status.isDirectory {
                        if excluded.contains(where: { $0.isSameFile(as: status.identity) }) { continue }
                        waiting.append((path + "/", true))
                    } else if FileStatus.of(start + path)?.isRegular == true {
                        waiting.append((path, false))
                    } else if status.isLink, FileStatus.of(start + path) == nil {
                        // A dangling link is an input that fails with a message.
                        waiting.append((path, false))
                    }
                }
            } catch {
                unread.append((start + name, error))
            }
        }
        return found
    }
}
