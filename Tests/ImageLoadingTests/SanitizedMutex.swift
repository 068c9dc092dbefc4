#if THREAD_SANITIZER
    import ImageProcessing

    /// Selects the lock that the sanitizer supports.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
