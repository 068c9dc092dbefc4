import CoderHost
import CommandLineKit
import ImageModel

/// `doctor isolation`: what holds a sandboxed plugin back on this machine, and what kernel or container deny.
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

    /// Whether `--isolation require` would decode here.
    var isSufficient: Bool { unmet.isEmpty }

    /// Whether no worker can be started at all although the policy may want one.
    var isAbsent: Bool {
        if case .failure = outcome { return policy.mode != .off }
        return false
    }

    /// The groups of `require` that are not had in full.
    private var unmet: [Confinement.Group] {
        guard case .success(let confinement) = outcome else { return Confinement.Group.allCases }
        return Confinement.Group.allCases.filter { policy.needed.contains($0) && !confinement.lacking([$0]).isEmpty }
    }

    var lines: [String] {
        switch outcome {
        case .failure(let error):
            return [
                "Plugins cannot be isolated here: \(error.message)",
                "  try: \(error.hint ?? "install coderhost-worker again")", "",
                "auto: everything runs inside this process, and results say so; plugins that require isolation are refused.",
                "require: nothing is decoded.",
            ]
        case .success(let confinement):
            var table = TextTable("MECHANISM", "STATE", "KEEPS A PLUGIN FROM")
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
                    ? "auto and require: plugins of third parties, and bytes from a network, are sandboxed in full."
                    : "auto: sandboxed with what is in force; results name what is missing (degraded)."
                        + (unmet.isEmpty ? " require: decodes, with the groups that were asked for." : ""))
            if !unmet.isEmpty {
                let had = Confinement.Group.allCases.filter { confinement.lacking([$0]).isEmpty }.map(\.rawValue)
                lines.append(
                    "require: nothing is decoded; --isolation require:\(had.joined(separator: ",")) asks for what there is."
                )
            }
            return lines
        }
    }

    /// Whether memory and processes of a plugin are bounded together, and what helps where not.
    private static func explanation(of group: Confinement.ControlGroup) -> String {
        switch group {
        case .inForce(let path):
            "control group: \(path) bounds memory and processes of all workers of a plugin together (memory.max, pids.max)"
        case .none(let why):
            "control group: none (\(why)); every process of a plugin has limits of its own, nothing bounds their sum. "
                + "systemd-run --scope -p Delegate=yes coderhost …, or CODERHOST_CGROUP=FOLDER, gives one"
        }
    }

    /// Why a group is usually missing, and what helps.
    private static func explanation(of group: Confinement.Group, _ missing: [Confinement.Mechanism]) -> String {
        switch group {
        case .seccomp where missing == [.seccompSeal]:
            "the kernel cannot ask about system calls (5.5 or newer), or somebody is asked already, such as the "
                + "container's own supervisor; a plugin that was malicious when it was loaded can then undo its seal"
        case .limits: "the process may not limit itself; a parent has set lower hard limits (ulimit -H -a)"
        case .namespaces:
            "the kernel or the container denies user namespaces (sysctl kernel.unprivileged_userns_clone "
                + "kernel.apparmor_restrict_unprivileged_userns user.max_user_namespaces; Docker needs its own seccomp "
                + "profile); what is left without them is seccomp and Landlock"
        case .landlock:
            "the kernel has no Landlock (5.13 or newer, \"landlock\" in the lsm= list), or the container's seccomp "
                + "profile is too old to know it; until it is sealed, a plugin may read what its user may read"
        case .seccomp:
            "the kernel has no seccomp filters, or a parent's filter denies them; a plugin in a worker may then do all "
                + "that its user may do, and only a crash is contained"
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

    /// One line for the general report.
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
