#if THREAD_SANITIZER
    import Glibc

    /// A lock around a value; the lock of the C library, in builds for the thread sanitizer (`make tsan`).
    ///
    /// The sanitizer does not understand the standard library's `Mutex`, which waits in the kernel directly, and
    /// reports false races. It understands `pthread_mutex_t`.
    // Sendable because: the value is accessed only under the lock.
    @safe package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
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
#else
    public import Synchronization

    /// A lock around a value: the standard library's `Mutex`, stored in place, except under the thread sanitizer.
    ///
    /// All modules use this type, so that one file decides which lock a build has. A file that also needs atomic values
    /// imports `struct Synchronization.Atomic`.
    // `usableFromInline` lets other modules inline the calls, as `package` alone does not.
    @usableFromInline package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
        @usableFromInline package let base: Synchronization.Mutex<Value>

        @inlinable package init(_ value: consuming sending Value) { base = Synchronization.Mutex(value) }

        @inlinable package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            try base.withLock(body)
        }
    }
#endif
