import HostSystem
import ImageProcessing

/// Whether this system can confine a process, decided once per host.
///
/// Only results from before any plugin code ran count. So a plugin cannot make the host believe that there is no
/// sandbox, and a host that had a sandbox never works without it later.
package final class SandboxAvailability: Sendable {
    package enum State: Hashable {
        case unknown
        case present
        /// No process can be confined, for this reason.
        case absent(String)
    }

    private let state = Mutex(State.unknown)

    /// Records the first result.
    package func note(_ found: State) {
        state.withLock { if $0 == .unknown { $0 = found } }
    }

    /// Why there is no sandbox; nil if there is one or if it is unknown.
    package var absence: String? {
        guard case .absent(let why) = state.withLock({ $0 }) else { return nil }
        return why
    }
}
