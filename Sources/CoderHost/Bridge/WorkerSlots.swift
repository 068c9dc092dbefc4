import Glibc
import ImageModel
import ImageProcessing

/// A fixed number of workers for whoever comes, in the order in which they came.
// Sendable because: everything that changes is read and written with the lock.
@safe final class WorkerSlots: @unchecked Sendable {
    private let total: Int
    private var free: Int
    private var nextTicket = 0
    /// Those that wait, first come first.
    private var waiting: [Int] = []
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    init(_ total: Int) {
        self.total = max(1, total)
        free = max(1, total)
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(lock, nil)
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: pthread_cond_t())
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(lock)
        unsafe changed.deallocate()
        unsafe lock.deallocate()
    }

    /// Waits for a slot.
    ///
    /// - Throws: `.cancelled`, `.deadlineExceeded`.
    func take(_ context: SessionContext) throws(CoderError) {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
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
                unsafe pthread_cond_broadcast(changed)
                var named = error
                if error.code == .deadlineExceeded {
                    named.message = "all \(total) workers were busy for \(context.limits.maxMilliseconds) ms"
                }
                throw named
            }
            var end = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &end)
            end.tv_nsec += 20_000_000
            if end.tv_nsec >= 1_000_000_000 {
                end.tv_sec += 1
                end.tv_nsec -= 1_000_000_000
            }
            unsafe pthread_cond_timedwait(changed, lock, &end)
        }
        waiting.removeFirst()
        free -= 1
        // There may be room for the next one, too.
        unsafe pthread_cond_broadcast(changed)
    }

    func giveBack() {
        unsafe pthread_mutex_lock(lock)
        free += 1
        unsafe pthread_cond_broadcast(changed)
        unsafe pthread_mutex_unlock(lock)
    }
}
