import Glibc
import Synchronization

/// Records a request to end this process, so the program can clean up first.
package enum Interruption {
    private static let noted = Atomic<Int32>(0)

    /// The last signal received since ``listen()``.
    package static var signal: Int32? {
        let value = noted.load(ordering: .relaxed)
        return value == 0 ? nil : value
    }

    /// Starts recording requests; a second signal of the same kind ends the process at once.
    ///
    /// A signal interrupts a blocking call. Signals that the process already ignores remain ignored.
    package static func listen() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var old = sigaction()
            guard unsafe sigaction(signal, nil, &old) == 0 else { continue }
            // The value of SIG_IGN is a function pointer with address 1.
            if unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == 1 { continue }
            var new = sigaction()
            unsafe new.__sigaction_handler.sa_handler = { Interruption.noted.store($0, ordering: .relaxed) }
            new.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            unsafe sigaction(signal, &new, nil)
        }
    }
}
