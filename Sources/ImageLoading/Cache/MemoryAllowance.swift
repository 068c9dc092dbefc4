import CoderHost

/// The memory that this process may have.
enum MemoryAllowance {
    /// That of the machine, or less where a control group says so.
    static let bytes = bytes(
        machine: SystemText.read("/proc/meminfo").flatMap(total), group: SystemText.ownGroup.map { $0 + "/memory.max" })

    /// - Parameters:
    ///   - machine: bytes that the machine has; nil where it does not say.
    ///   - group: the file with the limit of the control group.
    static func bytes(machine: Int?, group: String?) -> Int {
        // Where nobody says anything, a small machine is the safe guess.
        let most = machine ?? 1 << 30
        // "max" is no number, and no limit.
        guard let text = group.flatMap(SystemText.read), let limit = Int(text.trimmed), limit > 0 else { return most }
        return min(most, limit)
    }

    /// Bytes out of a line such as "MemTotal:       24600276 kB".
    /// - Source: proc_meminfo(5).
    static func total(_ text: String) -> Int? {
        for line in text.split(separator: "\n") where line.hasPrefix("MemTotal:") {
            let words = line.split(separator: " ")
            guard words.count >= 2, let count = Int(words[1]), count > 0, count < 1 << 40 else { return nil }
            return count * 1024
        }
        return nil
    }
}

/// What the kernel tells in small files.
enum SystemText {
    static func read(_ path: String) -> String? {
        guard let file = try? File(reading: path), let bytes = try? file.bytes(at: 0, count: 4096) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The folder of the control group (version 2) that this process is in; nil where there is none.
    ///
    /// In a container its own group looks like the root; the true root has neither a limit nor anything else to say.
    /// - Source: cgroups(7), "/proc/pid/cgroup".
    static let ownGroup: String? = read("/proc/self/cgroup").flatMap { group(in: $0) }

    static func group(in text: String, below root: String = "/sys/fs/cgroup") -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("0::/") {
            let path = line.dropFirst(3)
            return path == "/" ? root : root + path
        }
        return nil
    }
}

extension String {
    /// Without blanks at its ends.
    var trimmed: String {
        let isBlank = { (byte: UInt8) in byte == 32 || (9...13).contains(byte) }
        let bytes = utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
