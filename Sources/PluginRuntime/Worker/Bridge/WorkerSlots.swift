import HostSystem
import ImageModel

/// A fixed number of workers, granted in the order of requests.
// Sendable because: a lock protects all mutable state.
@safe final class WorkerSlots: @unchecked Sendable {
    private let total: Int
    private var free: Int
    private var nextTicket = 0
    /// The tickets of waiting sessions, oldest first.
    private var waiting: [Int] = []
    private let monitor = Monitor()

    init(_ total: Int) {
        self.total = max(1, total)
        free = max(1, total)
    }

    /// Waits for a slot.
    ///
    /// - Throws: `.cancelled`, `.deadlineExceeded`.
    func take(_ context: SessionContext) throws(CoderError) {
        monitor.lock()
        defer { monitor.unlock() }
        if free > 0, waiting.isEmpty {
            free -= 1
            return
        }
        let ticket = nextTicket
        nextTicket += 1
        waiting.append(ticket)
        while free == 0 || waiting.first != ticket {
            do throws(CoderError) {
                try context.checkCancellation()
            } catch {
                waiting.removeAll { $0 == ticket }
                monitor.notify()
                var named = error
                if error.code == .deadlineExceeded {
                    named.message = "all \(total) workers were busy for \(context.limits.maxMilliseconds) ms"
                }
                throw named
            }
            monitor.wait(milliseconds: 20)
        }
        waiting.removeFirst()
        free -= 1
        // The next session may have a slot too.
        monitor.notify()
    }

    func giveBack() {
        monitor.lock()
        free += 1
        monitor.notify()
        monitor.unlock()
    }
}
