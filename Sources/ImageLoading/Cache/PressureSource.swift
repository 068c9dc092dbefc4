import CoderHost

/// Notices that memory runs short.
///
/// - Concurrency: ``wait()`` is called by one thread; ``stop()`` by any, once, for good.
protocol PressureSource: AnyObject, Sendable {
    var kind: MemoryPressure.Watch { get }
    /// Blocks until memory runs short (true), or until it makes no sense to go on (false).
    func wait() -> Bool
    func stop()
}

/// Where the kernel tells of memory; other places are for tests.
struct PressurePlaces: Sendable {
    var system = "/proc/pressure/memory"
    /// The folder of the control group; nil where there is none.
    var group = SystemText.ownGroup

    /// The best source that this system has; nil where there is none.
    func source() -> (any PressureSource)? {
        let files = [system] + (group.map { ["\($0)/memory.pressure"] } ?? [])
        for path in files {
            if let trigger = PressureTrigger(path) { return trigger }
        }
        for path in files {
            if let sampler = PressureSampler(path, .averages) { return sampler }
        }
        return group.flatMap { PressureSampler("\($0)/memory.events", .events) }
    }
}

/// Looks at a file of the kernel every other second, where the kernel does not call by itself.
final class PressureSampler: PressureSource {
    enum Content: Sendable {
        /// `some avg10=1.23 avg60=… total=…`, and the same for `full`.
        case averages
        /// `high 0`, `max 0` and so on, one in a line.
        case events
    }

    /// The share of the last ten seconds, in percent, that something waited for memory: the same as what triggers ask
    /// for.
    static let highAverage = 7.5

    private let path: String
    private let content: Content
    private let alarm: WaitingPlace
    private let milliseconds: Int

    /// Nil when there is no such file, or when it says something else.
    init?(_ path: String, _ content: Content, milliseconds: Int = 2000) {
        guard let alarm = WaitingPlace(), let text = SystemText.read(path) else { return nil }
        if Self.measure(text, content) == nil { return nil }
        self.path = path
        self.content = content
        self.alarm = alarm
        self.milliseconds = milliseconds
    }

    var kind: MemoryPressure.Watch { .samples(path) }

    func stop() { alarm.ring() }

    func wait() -> Bool {
        var known = SystemText.read(path).flatMap { Self.measure($0, content) }
        while !alarm.wait(milliseconds: milliseconds) {
            let value = SystemText.read(path).flatMap { Self.measure($0, content) }
            guard let value else { return false }
            defer { known = value }
            switch content {
            case .averages: if value >= Self.highAverage { return true }
            case .events: if let known, value > known { return true }
            }
        }
        return false
    }

    /// - Source: Documentation/accounting/psi.rst; Documentation/admin-guide/cgroup-v2.rst, "memory.events".
    static func measure(_ text: String, _ content: Content) -> Double? {
        var sum: Double?
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch content {
            case .averages:
                guard words.first == "some" else { continue }
                for word in words where word.hasPrefix("avg10=") { return Double(word.dropFirst(6)) }
            case .events:
                guard words.count == 2, let count = Double(words[1]) else { continue }
                if words[0] == "high" || words[0] == "max" || words[0] == "oom" { sum = (sum ?? 0) + count }
            }
        }
        return sum
    }
}
