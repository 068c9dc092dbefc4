import CoderHost

/// Detects memory shortage.
///
/// - Concurrency: one thread calls ``wait()``; any thread calls ``stop()``, once.
protocol PressureSource: AnyObject, Sendable {
    var kind: MemoryPressure.Watch { get }
    /// Blocks until memory is short (true), or until the source ends (false).
    func wait() -> Bool
    func stop()
}

/// The kernel files to use; tests replace them.
struct PressureFiles: Sendable {
    var system = "/proc/pressure/memory"
    /// The folder of the control group; nil if there is none.
    var group = SystemText.ownGroup

    /// Returns the best source that this system offers; nil if there is none.
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

/// Reads a kernel file every two seconds, for systems without a trigger.
final class PressureSampler: PressureSource {
    enum Content: Sendable {
        /// `some avg10=1.23 avg60=… total=…`, and the same for `full`.
        case averages
        /// `high 0`, `max 0` and so on, one per line.
        case events
    }

    /// The share of the last ten seconds, in percent, in which a task waited for memory; equals the threshold of
    /// triggers.
    static let highAverage = 7.5

    private let path: String
    private let content: Content
    private let alarm: WakeupSignal
    private let milliseconds: Int

    /// Returns nil if the file does not exist or has another format.
    init?(_ path: String, _ content: Content, milliseconds: Int = 2000) {
        guard let alarm = WakeupSignal(), let text = SystemText.read(path) else { return nil }
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

    /// Returns the current value of a file: an average in percent, or a number of events.
    ///
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
