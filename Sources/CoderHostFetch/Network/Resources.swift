import CoderHost
import CommandLineKit
import Glibc

/// What this process needs of the system before the network is touched.
///
/// Rationale: event loops, and the queues that tasks run on, end the process where they cannot open what they need.
enum Resources {
    /// Descriptors for the first plugins, the cache and the queues of tasks, and three for the event loop of every
    /// processor: epoll, an event, a timer.
    private static let base = 24 + 3 * Machine.processorCount
    /// What one more plugin holds, and how many more there may be.
    private static let (plugin, plugins) = (5, 8)
    /// A connection, a look-up of its name, an entry of the cache, an output, and a worker with its memory.
    private static let each = 8

    /// Bytes of addresses that threads and their heaps reserve. With less, the queues of tasks wait for a thread without end.
    private static let addressSpace = 450 << 20

    /// How many transfers there is room for; says so where they are fewer than are wanted.
    ///
    /// - Throws: UsageError with 71 or 69.
    static func examine(wanting jobs: Int, for urls: Int) throws(UsageError) -> Int {
        let jobs = min(jobs, urls)
        let base = base + plugin * min(urls - 1, plugins)
        let free = freeDescriptors(upTo: base + each * jobs)
        let now = openFileLimit().map { " (now \($0))" } ?? ""
        let remedy = "allow the process more open files: ulimit -n \(256 + each * jobs)\(now)"
        guard free >= base + each else {
            throw UsageError(
                "only \(free) more files can be opened, and the network needs \(base + each)", hint: remedy,
                exit: .outOfMemory)
        }
        guard (try? File(reading: "/proc/self/stat")) != nil else {
            throw UsageError(
                "/proc/self cannot be read, which the network needs", hint: "mount -t proc proc /proc",
                exit: .unavailable)
        }
        if let limit = Machine.addressLimit, limit < addressSpace {
            throw UsageError(
                "this process may use \(limit >> 20) MiB of addresses, and the network needs \(addressSpace >> 20) MiB",
                hint: "ulimit -v unlimited, or at least \(addressSpace >> 10)", exit: .outOfMemory)
        }
        let possible = min(jobs, (free - base) / each)
        if possible < jobs {
            Console.error(
                "coderhost: warning: \(possible) instead of \(jobs) transfers at a time: too few files can be opened")
            Console.error("  try: \(remedy)")
        }
        return possible
    }

    /// - Parameter count: where counting ends.
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
