import HostSystem

/// Which plugins the host trusts.
public enum TrustPolicy: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Every plugin that does not weaken the process that loads it.
    case any
    /// Plugins in folders that only root and the user can write to, plugins that the user trusts by hash, and plugins
    /// signed by a trusted key.
    case owned
    /// Only plugins signed by a trusted key, and plugins that root installed with the host.
    case signed

    private var rank: Int {
        switch self {
        case .any: 0
        case .owned: 1
        case .signed: 2
        }
    }

    /// Compares by strictness.
    public static func < (a: TrustPolicy, b: TrustPolicy) -> Bool { a.rank < b.rank }

    /// The policy in `CODERHOST_TRUST`; ``owned`` by default.
    ///
    /// A process with raised privileges ignores the environment. For root, the environment can only select a stricter
    /// policy.
    package static var standard: TrustPolicy {
        guard let policy = trustedEnvironment("CODERHOST_TRUST").flatMap(TrustPolicy.init(rawValue:)) else {
            return .owned
        }
        return isRoot ? max(policy, .owned) : policy
    }
}
