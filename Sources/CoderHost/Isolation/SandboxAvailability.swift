import ImageProcessing
import Synchronization

/// Whether this system can confine a process at all, decided once for a host.
///
/// Only what was found out before any code of a plugin ran counts. A plugin can therefore not make the host believe that
/// there is no sandbox, and a host that had one never does without it later.
final class SandboxAvailability: Sendable {
    enum State: Hashable {
        case unknown
        case present
        /// No process can be confined, and why.
        case absent(String)
    }

    private let state = Mutex(State.unknown)

    /// Keeps the first answer.
    func note(_ found: State) {
        state.withLock { if $0 == .unknown { $0 = found } }
    }

    /// Why there is no sandbox; nil where there is one or that is not known yet.
    var absence: String? {
        guard case .absent(let why) = state.withLock({ $0 }) else { return nil }
        return why
    }
}
