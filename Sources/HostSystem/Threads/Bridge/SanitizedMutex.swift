#if THREAD_SANITIZER
    import Glibc

    /// Replaces the standard library's `Mutex` in builds for the thread sanitizer (`make tsan`).
    ///
    /// The sanitizer does not understand the standard library's `Mutex`, which waits in the kernel directly, and
    /// reports false races. It understands `pthread_mutex_t`.
    // Sendable because: the value is accessed only under the lock.
    @safe package struct SanitizedMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        package init(_ value: consuming sending Value) {
            unsafe lock = .allocate(capacity: 1)
            unsafe lock.initialize(to: pthread_mutex_t())
            unsafe pthread_mutex_init(lock, nil)
            unsafe self.value = .allocate(capacity: 1)
            unsafe self.value.initialize(to: value)
        }

        deinit {
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
            unsafe pthread_mutex_destroy(lock)
            unsafe lock.deallocate()
        }

        package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            unsafe pthread_mutex_lock(lock)
            defer { unsafe pthread_mutex_unlock(lock) }
            return unsafe try body(&value.pointee)
        }
    }

    /// Hides the standard library's `Mutex` within this module.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
