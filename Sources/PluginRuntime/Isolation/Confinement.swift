package import ImageModel

/// The sandbox mechanisms that restrict a worker, and those that the kernel or a container denies.
package struct Confinement: Sendable, Hashable {
    /// A sandbox mechanism, in the order of the worker's report.
    package enum Mechanism: String, Sendable, Hashable, CaseIterable {
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

        /// The group of the mechanism.
        package var group: Group {
            switch self {
            case .noNewPrivileges, .limits: .limits
            case .userNamespace, .pidNamespace, .networkNamespace, .ipcNamespace, .mountNamespace, .privateRoot:
                .namespaces
            case .landlock, .landlockNetwork, .landlockScope: .landlock
            case .seccompLoad, .seccompSeal: .seccomp
            }
        }

        /// Whether an otherwise complete sandbox may lack it, because other mechanisms cover the same.
        var isRefinement: Bool { self == .landlockNetwork || self == .landlockScope || self == .privateRoot }

        /// The attack that the mechanism prevents.
        package var purpose: String {
            switch self {
            case .noNewPrivileges: "gaining privileges through set-user-ID programs"
            case .limits: "using unlimited memory, processor time and descriptors"
            case .userNamespace: "using any privilege outside"
            case .pidNamespace: "seeing and signalling other processes; they all end together"
            case .networkNamespace: "reaching any network"
            case .ipcNamespace: "reaching shared memory and queues of other processes"
            case .mountNamespace: "changing mounts"
            case .privateRoot: "reaching files by path, except the libraries it needs"
            case .landlock: "opening files, except the libraries it needs"
            case .landlockNetwork: "TCP connections"
            case .landlockScope: "signals and abstract sockets to the outside"
            case .seccompLoad: "system calls that loading does not need"
            case .seccompSeal: "all but a few system calls, from before the first input byte"
            }
        }
    }

    /// Mechanisms that are requested together.
    package enum Group: String, Sendable, Hashable, CaseIterable {
        case limits, namespaces, landlock, seccomp
    }

    /// A mechanism that is not active.
    package struct Missing: Sendable, Hashable {
        /// The missing mechanism.
        package var mechanism: Mechanism
        /// The error of the system, for example `Operation not permitted`.
        package var reason: String
    }

    /// The control group (cgroup v2) of a plugin's processes. It is optional: each process has its own limits.
    package enum ControlGroup: Sendable, Hashable {
        /// The group at this path limits memory and processes.
        case inForce(String)
        /// There is no group, for this reason.
        case none(String)
    }

    /// The reason of a mechanism that is activated later.
    static let notYet = "not yet"

    /// The active mechanisms.
    package var inForce: [Mechanism] = []
    /// The mechanisms that are not active.
    package var missing: [Missing] = []
    /// The Landlock version of the kernel; 0 if unsupported.
    package var landlockVersion = 0
    /// The group that limits all processes of a plugin together.
    package var controlGroup = ControlGroup.none("not checked")

    /// Returns the mechanisms of these groups that are missing and that every supported kernel has.
    package func lacking(_ groups: Set<Group>) -> [Missing] {
        missing.filter { groups.contains($0.mechanism.group) && !$0.mechanism.isRefinement }
    }

    /// Returns the error that names missing mechanisms; nil if none is missing.
    package func shortfall(_ groups: Set<Group>) -> CoderError? {
        let lacking = lacking(groups)
        if lacking.isEmpty { return nil }
        return CoderError(
            .isolationUnavailable,
            "the sandbox lacks " + lacking.map { "\($0.mechanism.rawValue) (\($0.reason))" }.joined(separator: ", "),
            hint: "run coderhost doctor isolation; --isolation require:GROUP,… requires less")
    }
}

/// Where an image was decoded or encoded, and how the plugin was confined there.
public struct IsolationReport: Sendable, Hashable {
    /// Where a coder ran.
    public enum Place: String, Sendable, Hashable {
        /// In the process of the host.
        case inProcess = "in-process"
        /// In a sandboxed process.
        case worker
    }

    /// The requested mode.
    package var mode: IsolationPolicy.Mode
    /// Where the coder ran.
    public var place: Place
    /// The reason for the place.
    public var reason: String
    /// The confinement; empty in process.
    package var confinement = Confinement()
    /// Whether the session had less isolation than the mode promises.
    public var isDegraded: Bool
}
