import Glibc

/// The machine, as far as it matters for a measurement.
package enum Machine {
    /// Processors that work now.
    package static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// What the processor calls itself; nil where the kernel does not say.
    package static var processorName: String? {
        guard let file = try? File(reading: "/proc/cpuinfo"), let bytes = try? file.bytes(at: 0, count: 4096) else {
            return nil
        }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where line.hasPrefix("model name") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            return String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        return nil
    }

    /// The most memory that this process has had; nil where the kernel does not say.
    static var ownPeakBytes: Int? {
        guard let file = try? File(reading: "/proc/self/status"), let bytes = try? file.bytes(at: 0, count: 4096)
        else { return nil }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where line.hasPrefix("VmHWM:") {
            // "VmHWM:     1234 kB"
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }.map {
                $0 * 1024
            }
        }
        return nil
    }

    /// The bytes of addresses that this process may use; nil where there is no limit.
    package static var addressLimit: Int? { limit(of: RLIMIT_AS) }

    /// The soft limit of this process; nil where there is none.
    static func limit(of resource: __rlimit_resource) -> Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return nil
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether this process may be refused memory that it asks for: it has a limit of its own, or the kernel promises no more
    /// than there is. Elsewhere only absurd amounts are refused.
    static let refusesMemory: Bool = {
        let isLimited = limit(of: RLIMIT_AS) != nil || limit(of: RLIMIT_DATA) != nil
        guard !isLimited, let file = try? File(reading: "/proc/sys/vm/overcommit_memory") else { return isLimited }
        return (try? file.bytes(at: 0, count: 1)) == [UInt8(ascii: "2")]
    }()

    /// Processes that wanted to run during the last minute, on average.
    package static var load: Double? {
        var load = 0.0
        return unsafe getloadavg(&load, 1) == 1 ? load : nil
    }
}
