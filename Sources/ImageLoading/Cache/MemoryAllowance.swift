import CoderHost

/// The memory that this process may use.
enum MemoryAllowance {
    /// The memory of the machine, or the limit of the control group if it is lower.
    static let bytes = bytes(
        machine: SystemText.read("/proc/meminfo").flatMap(total), group: SystemText.ownGroup.map { $0 + "/memory.max" })

    /// Returns the available memory in bytes.
    ///
    /// - Parameters:
    ///   - machine: memory of the machine in bytes; nil if unknown.
    ///   - group: the file with the limit of the control group.
    static func bytes(machine: Int?, group: String?) -> Int {
        // If the size is unknown, assume a small machine.
        let most = machine ?? 1 << 30
        // "max" is not a number and means no limit.
        guard let text = group.flatMap(SystemText.read), let limit = Int(text.trimmed), limit > 0 else { return most }
        return min(most, limit)
    }

    /// Parses a line such as "MemTotal:       24600276 kB" to bytes.
    ///
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

/// Small text files of the kernel.
enum SystemText {
    static func read(_ path: String) -> String? {
        guard let file = try? File(reading: path), let bytes = try? file.bytes(at: 0, count: 4096) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The folder of this process's control group (version 2); nil if there is none.
    ///
    /// Inside a container the own group appears as the root. The real root has no limit.
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
    /// The text without white space at both ends.
    var trimmed: String {
        let isBlank = { (byte: UInt8) in byte == 32 || (9...13).contains(byte) }
        let bytes = utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
