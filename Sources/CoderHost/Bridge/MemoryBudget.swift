/// Bytes that several decodes share: one that does not fit waits until others are done.
///
/// Whoever wants more than there is altogether gets all of it, and so runs alone. They are served in the order in which
/// they came, so that a large picture is not kept waiting for ever by small ones.
// Sendable because: everything that changes is read and written with the lock.
@safe package final class MemoryBudget: @unchecked Sendable {
    private let total: Int
    private var free: Int
    private var nextTicket = 0
    private var served = 0
    private let monitor = Monitor()

    package init(bytes: Int) {
        total = max(1, bytes)
        free = total
    }

    /// A part of it that is still to be taken.
    package func share() -> Share { Share(self) }

    /// What one piece of work has of the budget.
    ///
    /// - Concurrency: one thread.
    package final class Share {
        private let budget: MemoryBudget
        private var bytes = 0

        fileprivate init(_ budget: MemoryBudget) { self.budget = budget }

        /// Waits until so many bytes are free; what was taken before is given back first.
        package func take(_ bytes: Int) {
            giveBack()
            self.bytes = budget.take(bytes)
        }

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
