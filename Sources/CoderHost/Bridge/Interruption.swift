import Glibc
import Synchronization

/// A request to end this process, noted for whoever has something to clear away first.
package enum Interruption {
    private static let noted = Atomic<Int32>(0)

    /// The first signal that came since ``listen()``.
    package static var signal: Int32? {
        let value = noted.load(ordering: .relaxed)
        return value == 0 ? nil : value
    }

    /// Notes requests from here on; a second one of the same kind ends the process at once.
    ///
    /// A call that waits comes back when one arrives. What is ignored already stays so.
    package static func listen() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var old = sigaction()
            guard unsafe sigaction(signal, nil, &old) == 0 else { continue }
            // SIG_IGN is a function at address 1.
            if unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == 1 { continue }
            var new = sigaction()
            unsafe new.__sigaction_handler.sa_handler = { Interruption.noted.store($0, ordering: .relaxed) }
            new.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            unsafe sigaction(signal, &new, nil)
        }
    }
}
