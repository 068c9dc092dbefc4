#if THREAD_SANITIZER
    import ImageProcessing

    /// Of two locks with one name the one that the sanitizer knows.
    typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
