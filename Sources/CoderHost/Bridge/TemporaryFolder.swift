import Glibc

/// A folder for files that nobody needs later; it goes, with the files in it, when the last reference goes.
package final class TemporaryFolder {
    package let path: String

    /// Makes one in `$TMPDIR` or `/tmp` that nobody else can look into.
    package init() throws(SystemError) {
        let place = environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(place)/coderhost-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .last }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    deinit {
        for name in (try? directoryEntries(path)) ?? [] { unsafe unlink(file(name)) }
        unsafe rmdir(path)
    }
}

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

    /// Processes that wanted to run during the last minute, on average.
    package static var load: Double? {
        var load = 0.0
        return unsafe getloadavg(&load, 1) == 1 ? load : nil
    }
}
