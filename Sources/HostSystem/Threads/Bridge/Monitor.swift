import Glibc

/// A lock with a condition variable for changes of the protected state.
// Sendable because: the mutex and the condition are thread-safe and are never replaced.
@safe package final class Monitor: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    package init() {
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

    package func lock() { unsafe pthread_mutex_lock(mutex) }
    package func unlock() { unsafe pthread_mutex_unlock(mutex) }

    /// Wakes all waiting threads.
    package func notify() { unsafe pthread_cond_broadcast(changed) }

    /// Releases the lock and waits for a change; spurious wakeups are possible.
    package func wait() { unsafe pthread_cond_wait(changed, mutex) }

    /// Waits for a change with a timeout; spurious wakeups are possible.
    package func wait(milliseconds: Int) {
        var end = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &end)
        end.tv_nsec += milliseconds % 1000 * 1_000_000
        end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1_000_000_000
        end.tv_nsec %= 1_000_000_000
        unsafe pthread_cond_timedwait(changed, mutex, &end)
    }
}
