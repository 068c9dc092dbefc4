#if THREAD_SANITIZER
    import Synchronization

    /// Shows the thread sanitizer the order in which reference counting puts the accesses to an object.
    ///
    /// An owner that finds itself the only one runs after all earlier owners. The sanitizer does not see the runtime's
    /// reference counts and would report the next use of the memory as a race. Other builds compile this to nothing.
    struct AccessOrder: ~Copyable, Sendable {
        private let ended = Atomic<Int>(0)

        /// Call after every access through a reference.
        func end() { ended.add(1, ordering: .releasing) }
        /// Call where the only reference is found to be unique.
        func beginAlone() { _ = ended.load(ordering: .acquiring) }
    }
#else
    struct AccessOrder: Sendable {
        @inline(__always) func end() {}
        @inline(__always) func beginAlone() {}
    }
#endif
