/// Whose plugins are used.
public enum TrustPolicy: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Whatever can be loaded without opening a hole.
    case any
    /// What stands where nobody but root and the user can write, what the user vouched for, and what is signed by a
    /// trusted key.
    case owned
    /// Only what is signed by a trusted key, and what was installed with the host by root.
    case signed

    private var rank: Int {
        switch self {
        case .any: 0
        case .owned: 1
        case .signed: 2
        }
    }

    public static func < (a: TrustPolicy, b: TrustPolicy) -> Bool { a.rank < b.rank }

    /// `CODERHOST_TRUST`, or else ``owned``.
    ///
    /// The environment is ignored in a process with raised privileges, and in one of root it can only make things
    /// stricter.
    public static var standard: TrustPolicy {
        guard let policy = trustedEnvironment("CODERHOST_TRUST").flatMap(TrustPolicy.init(rawValue:)) else {
            return .owned
        }
        return isRoot ? max(policy, .owned) : policy
    }
}
