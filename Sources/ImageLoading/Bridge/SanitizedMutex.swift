#if THREAD_SANITIZER
    import HostSystem

    /// Replaces the standard library's `Mutex` within this module.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
