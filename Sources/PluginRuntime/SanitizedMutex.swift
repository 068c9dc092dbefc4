#if THREAD_SANITIZER
    import HostSystem

    /// Hides the standard library's `Mutex` within this module.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
