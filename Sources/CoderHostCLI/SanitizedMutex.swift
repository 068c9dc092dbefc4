#if THREAD_SANITIZER
    import HostSystem

    /// Replaces `Mutex` of the standard library within this module.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
