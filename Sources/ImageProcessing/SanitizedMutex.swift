#if THREAD_SANITIZER
    import HostSystem

    /// Within this module the name hides the standard library's.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
