import Glibc

/// A lock, and a way to wait for a change of what it protects.
// Sendable because: the two are made for several threads, and are never another.
@safe final class Monitor: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: pthread_cond_t())
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
    }

    func lock() { unsafe pthread_mutex_lock(mutex) }
    func unlock() { unsafe pthread_mutex_unlock(mutex) }

    /// Wakes all that wait.
    func notify() { unsafe pthread_cond_broadcast(changed) }

    /// Waits for a change, without the lock; it may come back before there is one.
    func wait() { unsafe pthread_cond_wait(changed, mutex) }

    /// The same, for so long at the most.
    func wait(milliseconds: Int) {
        var end = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &end)
        end.tv_nsec += milliseconds % 1000 * 1_000_000
        end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1_000_000_000
        end.tv_nsec %= 1_000_000_000
        unsafe pthread_cond_timedwait(changed, mutex, &end)
    }
}
