import CHostSystem
package import Glibc

/// Properties of the machine that matter for a measurement.
package enum Machine {
    /// The number of processors that the calling thread may use, regardless of a temporary binding.
    package static var processorCount: Int { max(1, Int(host_processor_count())) }

    /// The model name of the processor; nil if the kernel does not report it.
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

    /// The peak memory of this process in bytes; nil if the kernel does not report it.
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

    /// The address space limit of this process in bytes; nil if unlimited.
    package static var addressLimit: Int? { limit(of: RLIMIT_AS) }

    /// Returns the soft limit of this process; nil if unlimited.
    package static func limit(of resource: __rlimit_resource) -> Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return nil
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether an allocation of this process can fail: it has a memory limit, or the kernel does not overcommit.
    /// Elsewhere the kernel refuses only absurd amounts.
    package static let refusesMemory: Bool = {
        let isLimited = limit(of: RLIMIT_AS) != nil || limit(of: RLIMIT_DATA) != nil
        guard !isLimited, let file = try? File(reading: "/proc/sys/vm/overcommit_memory") else { return isLimited }
        return (try? file.bytes(at: 0, count: 1)) == [UInt8(ascii: "2")]
    }()

    /// The load average of the last minute.
    package static var load: Double? {
        var load = 0.0
        return unsafe getloadavg(&load, 1) == 1 ? load : nil
    }
}
