import Glibc
package import HostSystem

/// The settings of an administrator or the user for one plugin.
///
/// A file `<folder>/<plugin-id>.conf` has lines `key = value`: `enabled = yes|no`, `priority = <number>`. `#` begins a
/// comment. The user's folder takes precedence over the system's.
package struct Administration: Hashable {
    package var isEnabled = true
    package var priority: Int?
    /// The file with the settings.
    package var file: String?

    package static func of(plugin id: String, in folders: [String]) -> Administration {
        guard let (path, text) = settings(of: id, in: folders) else { return Administration() }
        var result = Administration()
        result.file = path
        for line in text.split(separator: "\n") {
            guard let (key, value) = member(line) else { continue }
            switch key {
            case "enabled": result.isEnabled = !["no", "false", "0", "off"].contains(value)
            case "priority": result.priority = Int(value)
            default: continue
            }
        }
        return result
    }

    /// Enables or disables a plugin in the first folder; keeps the rest of the file.
    ///
    /// If another folder held the settings so far, they are copied.
    /// - Returns: the path of the file.
    package static func write(
        enabled: Bool, plugin id: String, in folders: [String]
    ) throws(SystemError) -> String {
        guard let folder = folders.first else { throw SystemError(ENOENT) }
        let path = "\(folder)/\(id).conf"
        var lines =
            settings(of: id, in: folders)?.text.split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init)
            ?? []
        if lines.last?.isEmpty == true { lines.removeLast() }
        let word = "enabled = \(enabled ? "yes" : "no")"
        var isSet = false
        for index in lines.indices where member(lines[index][...])?.key == "enabled" {
            let remark = lines[index].firstIndex(of: "#").map { " " + lines[index][$0...] } ?? ""
            lines[index] = word + remark
            isSet = true
        }
        if !isSet { lines.append(word) }
        try StateFile.makeFolder(folder)
        // A symbolic link is kept; its target is replaced.
        try StateFile.write(
            Array(lines.map { $0 + "\n" }.joined().utf8), to: resolvedPath(path) ?? path, mode: 0o644)
        return path
    }

    private static func settings(of id: String, in folders: [String]) -> (path: String, text: String)? {
        for folder in folders {
            let path = "\(folder)/\(id).conf"
            if let bytes = try? StateFile.read(path) { return (path, String(decoding: bytes, as: UTF8.self)) }
        }
        return nil
    }

    /// Parses `key = value`, without spaces and in lower case.
    private static func member(_ line: Substring) -> (key: String, value: String)? {
        let parts = line.prefix { $0 != "#" }.split(separator: "=", maxSplits: 1).map {
            $0.filter { !$0.isWhitespace }.lowercased()
        }
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
}
