#if THREAD_SANITIZER
    import Synchronization

    /// Shows the thread sanitizer the order that the count of references brings into the accesses to an object.
    ///
    /// Whoever finds that nobody else refers to it comes after everybody who did. The sanitizer does not see how the
    /// runtime counts, and would take the next use of the memory for a race. In other builds this is nothing.
    struct AccessOrder: ~Copyable, Sendable {
        private let ended = Atomic<Int>(0)

        /// Behind every access through a reference.
        func end() { ended.add(1, ordering: .releasing) }
        /// Where the only reference is found to be the only one.
        func beginAlone() { _ = ended.load(ordering: .acquiring) }
    }
#else
    struct AccessOrder: Sendable {
        @inline(__always) func end() {}
        @inline(__always) func beginAlone() {}
    }
#endif
