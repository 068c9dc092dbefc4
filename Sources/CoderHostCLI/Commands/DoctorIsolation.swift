import CoderHost
import CommandLineKit
import ImageModel

/// `doctor isolation`: reports which sandbox mechanisms work on this system, and why the others do not.
struct DoctorIsolation {
    private let policy: IsolationPolicy
    private let outcome: Result<Confinement, CoderError>

    init(_ host: CoderHost) {
        policy = host.configuration.isolation
        do throws(CoderError) {
            outcome = .success(try host.probeIsolation())
        } catch {
            outcome = .failure(error)
        }
    }

    /// Whether `--isolation require` works on this system.
    var isSufficient: Bool { unmet.isEmpty }

    /// Whether the policy allows workers, but no worker can be started.
    var isAbsent: Bool {
        if case .failure = outcome { return policy.mode != .off }
        return false
    }

    /// The required groups with missing mechanisms.
    private var unmet: [Confinement.Group] {
        guard case .success(let confinement) = outcome else { return Confinement.Group.allCases }
        return Confinement.Group.allCases.filter { policy.needed.contains($0) && !confinement.lacking([$0]).isEmpty }
    }

    var lines: [String] {
        switch outcome {
        case .failure(let error):
            return [
                "This system cannot isolate plugins: \(error.message)",
                "  try: \(error.hint ?? "reinstall coderhost-worker")", "",
                "auto: all plugins run inside this process, except those that require isolation; results report it.",
                "require: nothing is decoded.",
            ]
        case .success(let confinement):
            var table = TextTable("MECHANISM", "STATE", "PREVENTS")
            for mechanism in Confinement.Mechanism.allCases {
                let missing = confinement.missing.first { $0.mechanism == mechanism }
                table.add(
                    mechanism.rawValue, missing.map { "missing: \($0.reason)" } ?? "in force", mechanism.purpose)
            }
            var lines = table.lines + ["", Self.explanation(of: confinement.controlGroup), ""]
            for group in Confinement.Group.allCases where !confinement.lacking([group]).isEmpty {
                let missing = confinement.lacking([group]).map(\.mechanism)
                lines.append("\(group.rawValue): \(Self.explanation(of: group, missing))")
            }
            lines.append(
                confinement.lacking(Set(Confinement.Group.allCases)).isEmpty
                    ? "auto and require: third-party plugins and network data are fully sandboxed."
                    : "auto: sandboxed with the active mechanisms; results list the missing ones (degraded)."
                        + (unmet.isEmpty ? " require: all required groups are in force." : ""))
            if !unmet.isEmpty {
                let had = Confinement.Group.allCases.filter { confinement.lacking([$0]).isEmpty }.map(\.rawValue)
                lines.append(
                    "require: nothing is decoded; --isolation require:\(had.joined(separator: ",")) works here."
                )
            }
            return lines
        }
    }

    /// Explains whether a control group limits memory and processes of a plugin, and how to get one.
    private static func explanation(of group: Confinement.ControlGroup) -> String {
        switch group {
        case .inForce(let path):
            "control group: \(path) limits memory and processes of all workers of a plugin (memory.max, pids.max)"
        case .none(let why):
            "control group: none (\(why)); each process of a plugin has its own limits, their sum is unlimited. "
                + "To get one: systemd-run --scope -p Delegate=yes coderhost …, or CODERHOST_CGROUP=FOLDER"
        }
    }

    /// Explains the usual reason for a missing group.
    private static func explanation(of group: Confinement.Group, _ missing: [Confinement.Mechanism]) -> String {
        switch group {
        case .seccomp where missing == [.seccompSeal]:
            "the kernel has no seccomp user notification (5.5 or newer), or a supervisor uses it already, such as "
                + "the container's; a plugin that is malicious at load time can then remove its seal"
        case .limits:
            "the process cannot set its limits: its parent has lower hard limits (ulimit -H -a)"
        case .namespaces:
            "the kernel or the container denies user namespaces (sysctl kernel.unprivileged_userns_clone "
                + "kernel.apparmor_restrict_unprivileged_userns user.max_user_namespaces; Docker needs a custom "
                + "seccomp profile); seccomp and Landlock still apply"
        case .landlock:
            "the kernel has no Landlock (5.13 or newer, \"landlock\" in the lsm= list), or the container's seccomp "
                + "profile does not allow it; until sealed, a plugin can read all files that its user can read"
        case .seccomp:
            "the kernel has no seccomp filters, or a parent's filter denies them; a worker then only contains crashes, "
                + "and a plugin has all rights of its user"
        }
    }

    var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("mode", .string(policy.mode.rawValue)), ("sufficient", .bool(isSufficient)),
        ]
        switch outcome {
        case .failure(let error):
            members += [("mechanisms", .array([])), ("error", error.json)]
        case .success(let confinement):
            members.append(
                (
                    "mechanisms",
                    .array(
                        Confinement.Mechanism.allCases.map { mechanism in
                            let missing = confinement.missing.first { $0.mechanism == mechanism }
                            return .object([
                                ("name", .string(mechanism.rawValue)), ("group", .string(mechanism.group.rawValue)),
                                ("in_force", .bool(missing == nil)),
                                ("reason", missing.map { .string($0.reason) } ?? .null),
                            ])
                        })
                ))
            members.append(("landlock_version", .integer(confinement.landlockVersion)))
            switch confinement.controlGroup {
            case .inForce(let path):
                members.append(("control_group", .object([("path", .string(path)), ("reason", .null)])))
            case .none(let why):
                members.append(("control_group", .object([("path", .null), ("reason", .string(why))])))
            }
        }
        return .object(members)
    }

    /// The summary line of the general report.
    var summary: String {
        switch outcome {
        case .failure(let error): "Isolation (--isolation): none: \(error.message)"
        case .success(let confinement):
            "Isolation (--isolation): \(policy.mode.rawValue); "
                + (confinement.missing.isEmpty
                    ? "all \(confinement.inForce.count) mechanisms in force"
                    : "missing: \(confinement.missing.map(\.mechanism.rawValue).joined(separator: ", "))")
                + "; see coderhost doctor isolation"
        }
    }
}
