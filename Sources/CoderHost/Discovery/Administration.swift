/// What an administrator or the user decided about one plugin.
///
/// A file `<folder>/<plugin-id>.conf` holds lines `key = value`: `enabled = yes|no`, `priority = <number>`. `#` begins a
/// comment. The user's folder comes before the system's.
struct Administration: Hashable {
    var isEnabled = true
    var priority: Int?
    /// The file it was read from.
    var file: String?

    static func of(plugin id: String, in folders: [String]) -> Administration {
        for folder in folders {
            let path = "\(folder)/\(id).conf"
            guard let file = try? File(reading: path), let text = try? file.bytes(at: 0, count: 64 << 10) else {
                continue
            }
            var result = Administration()
            result.file = path
            for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
                let parts = line.prefix { $0 != "#" }.split(separator: "=", maxSplits: 1).map {
                    $0.filter { !$0.isWhitespace }.lowercased()
                }
                guard parts.count == 2 else { continue }
                switch parts[0] {
                case "enabled": result.isEnabled = !["no", "false", "0", "off"].contains(parts[1])
                case "priority": result.priority = Int(parts[1])
                default: continue
                }
            }
            return result
        }
        return Administration()
    }
}
