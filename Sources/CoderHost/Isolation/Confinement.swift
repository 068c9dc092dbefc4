import ImageModel

/// What holds a worker back, and what does not because kernel or container deny it.
public struct Confinement: Sendable, Hashable {
    /// One means of the system, in the order of the worker's report.
    public enum Mechanism: String, Sendable, Hashable, CaseIterable {
        case noNewPrivileges = "no-new-privileges"
        case limits
        case userNamespace = "user-namespace"
        case pidNamespace = "pid-namespace"
        case networkNamespace = "network-namespace"
        case ipcNamespace = "ipc-namespace"
        case mountNamespace = "mount-namespace"
        case privateRoot = "private-root"
        case landlock
        case landlockNetwork = "landlock-network"
        case landlockScope = "landlock-scope"
        case seccompLoad = "seccomp-load"
        case seccompSeal = "seccomp-seal"

        public var group: Group {
            switch self {
            case .noNewPrivileges, .limits: .limits
            case .userNamespace, .pidNamespace, .networkNamespace, .ipcNamespace, .mountNamespace, .privateRoot:
                .namespaces
            case .landlock, .landlockNetwork, .landlockScope: .landlock
            case .seccompLoad, .seccompSeal: .seccomp
            }
        }

        /// Whether a system may lack it that is otherwise complete: other mechanisms hold what it holds, too.
        var isRefinement: Bool { self == .landlockNetwork || self == .landlockScope || self == .privateRoot }

        /// What it keeps a plugin from.
        public var purpose: String {
            switch self {
            case .noNewPrivileges: "gaining privileges through set-user-ID programs"
            case .limits: "taking memory, processor time and descriptors without end"
            case .userNamespace: "having any right outside"
            case .pidNamespace: "seeing and signalling other processes; all of it ends at once"
            case .networkNamespace: "reaching any network"
            case .ipcNamespace: "reaching shared memory and queues of others"
            case .mountNamespace: "changing what is mounted"
            case .privateRoot: "reaching any file but the libraries it needs by a path"
            case .landlock: "opening any file but the libraries it needs"
            case .landlockNetwork: "TCP connections"
            case .landlockScope: "signals and abstract sockets to the outside"
            case .seccompLoad: "all system calls but those that loading needs"
            case .seccompSeal: "all but a few system calls before it sees the first byte"
            }
        }
    }

    /// Mechanisms that are asked for together.
    public enum Group: String, Sendable, Hashable, CaseIterable {
        case limits, namespaces, landlock, seccomp
    }

    /// A mechanism that is not in force.
    public struct Missing: Sendable, Hashable {
        public var mechanism: Mechanism
        /// What the system said, for example `Operation not permitted`.
        public var reason: String
    }

    /// The control group (cgroup v2) of a plugin's processes. Nothing depends on it: each process has limits of its own.
    public enum ControlGroup: Sendable, Hashable {
        /// Memory and processes are limited by the group with this path.
        case inForce(String)
        /// No group; the reason.
        case none(String)
    }

    /// The reason of a mechanism that comes later.
    static let notYet = "not yet"

    public var inForce: [Mechanism] = []
    public var missing: [Missing] = []
    /// The kernel's version of Landlock; 0 for none.
    public var landlockVersion = 0
    /// The group that bounds all processes of a plugin together.
    public var controlGroup = ControlGroup.none("not looked for")

    /// The mechanisms of these groups that are missing and that no older kernel is excused from.
    package func lacking(_ groups: Set<Group>) -> [Missing] {
        missing.filter { groups.contains($0.mechanism.group) && !$0.mechanism.isRefinement }
    }

    /// The error that names what is lacking; nil where nothing is.
    func shortfall(_ groups: Set<Group>) -> CoderError? {
        let lacking = lacking(groups)
        if lacking.isEmpty { return nil }
        return CoderError(
            .isolationUnavailable,
            "the sandbox lacks " + lacking.map { "\($0.mechanism.rawValue) (\($0.reason))" }.joined(separator: ", "),
            hint: "see coderhost doctor isolation; --isolation require:GROUP,… asks for less")
    }
}

/// Where a picture was decoded or encoded, and what held the plugin back there.
public struct IsolationReport: Sendable, Hashable {
    public enum Place: String, Sendable, Hashable {
        case inProcess = "in-process"
        case worker
    }

    /// What was asked for.
    public var mode: IsolationPolicy.Mode
    public var place: Place
    /// Why there.
    public var reason: String
    /// Empty in process.
    public var confinement = Confinement()
    /// Whether less was had than the mode promises.
    public var isDegraded: Bool
}
