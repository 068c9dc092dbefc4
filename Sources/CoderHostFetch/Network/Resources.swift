import CoderHost
import CommandLineKit
import Glibc

/// Checks that the system has enough resources for the network.
///
/// Rationale: event loops and task queues abort the process if they cannot open a descriptor or create a thread.
enum Resources {
    /// Descriptors for the first plugins, the cache and the queues of tasks, and three for the event loop of every
    /// processor: epoll, an event, a timer.
    private static let base = 24 + 3 * Machine.processorCount
    /// Descriptors per additional plugin, and the maximum number of additional plugins.
    private static let (plugin, plugins) = (5, 8)
    /// Descriptors per download: connection, name lookup, cache entry, output, and a worker with its memory.
    private static let each = 8

    /// Address space for threads and their heaps, in bytes. With less, task queues wait for a thread forever.
    private static let addressSpace = 450 << 20

    /// Returns how many parallel downloads are possible; prints a warning if they are fewer than requested.
    ///
    /// - Throws: ``UsageError`` with exit code 71 or 69.
    static func examine(wanting jobs: Int, for urls: Int) throws(UsageError) -> Int {
        let jobs = min(jobs, urls)
        let base = base + plugin * min(urls - 1, plugins)
        let free = freeDescriptors(upTo: base + each * jobs)
        let now = openFileLimit().map { " (now \($0))" } ?? ""
        let remedy = "raise the limit of open files: ulimit -n \(256 + each * jobs)\(now)"
        guard free >= base + each else {
            throw UsageError(
                "too few file descriptors: \(free) are free, the network needs \(base + each)", hint: remedy,
                exit: .outOfMemory)
        }
        guard (try? File(reading: "/proc/self/stat")) != nil else {
            throw UsageError(
                "cannot read /proc/self, which the network needs", hint: "mount -t proc proc /proc",
                exit: .unavailable)
        }
        if let limit = Machine.addressLimit, limit < addressSpace {
            throw UsageError(
                "address space limit of \(limit >> 20) MiB: the network needs \(addressSpace >> 20) MiB",
                hint: "ulimit -v unlimited, or at least \(addressSpace >> 10)", exit: .outOfMemory)
        }
        let possible = min(jobs, (free - base) / each)
        if possible < jobs {
            Console.error(
                "coderhost: warning: \(possible) instead of \(jobs) parallel downloads: too few file descriptors")
            Console.error("  try: \(remedy)")
        }
        return possible
    }

    /// Counts the free descriptors.
    ///
    /// - Parameter count: the number at which to stop counting.
    private static func freeDescriptors(upTo count: Int) -> Int {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < count {
            let descriptor = dup(STDERR_FILENO)
            if descriptor < 0 { break }
            taken.append(descriptor)
        }
        return taken.count
    }
}
