import HostSystem

/// A memory budget that concurrent decodes share; a decode that does not fit waits for the others.
///
/// A request above the total gets the whole budget, so that decode runs alone. Requests are served in order of arrival:
/// small images cannot delay a large one forever.
// Sendable because: all mutable state is protected by the lock.
@safe package final class MemoryBudget: @unchecked Sendable {
    private let total: Int
    private var free: Int
    private var nextTicket = 0
    private var served = 0
    private let monitor = Monitor()

    /// Creates the budget of `--budget`, 512 MiB by default.
    package convenience init(_ arguments: ParsedArguments) throws(UsageError) {
        self.init(bytes: try arguments.byteCount("--budget") ?? 512 << 20)
    }

    /// Creates a budget in bytes.
    package init(bytes: Int) {
        total = max(1, bytes)
        free = total
    }

    /// Returns an empty share.
    package func share() -> Share { Share(self) }

    /// The share of one decode.
    ///
    /// - Concurrency: one thread.
    package final class Share {
        private let budget: MemoryBudget
        private var bytes = 0

        fileprivate init(_ budget: MemoryBudget) { self.budget = budget }

        /// Returns the current bytes to the budget, then waits until the requested bytes are free.
        package func take(_ bytes: Int) {
            giveBack()
            self.bytes = budget.take(bytes)
        }

        /// Returns all bytes to the budget.
        package func giveBack() {
            if bytes > 0 { budget.giveBack(bytes) }
            bytes = 0
        }
    }

    private func take(_ bytes: Int) -> Int {
        let share = min(max(0, bytes), total)
        monitor.lock()
        defer { monitor.unlock() }
        let ticket = nextTicket
        nextTicket += 1
        while ticket != served || share > free { monitor.wait() }
        served += 1
        free -= share
        monitor.notify()
        return share
    }

    private func giveBack(_ bytes: Int) {
        monitor.lock()
        free += bytes
        monitor.notify()
        monitor.unlock()
    }
}
