import Glibc
import ImageProcessing
import Synchronization

/// The control group (cgroup v2) in which this process makes one group for each plugin that runs in workers.
///
/// The limits of a process do not add up: a group bounds memory and number of all processes of a plugin together.
/// - Concurrency: any thread.
final class ControlGroups: Sendable {
    /// Where groups can be made, or why there is no such place.
    enum Place: Sendable, Hashable {
        case folder(ControlGroupFolder)
        case none(String)
    }

    private let named: String?
    private let known = Mutex<Place?>(nil)
    private static let nextNumber = Atomic<UInt64>(1)

    /// - Parameter named: the folder to make groups in; nil looks for one.
    init(named: String? = trustedEnvironment("CODERHOST_CGROUP")) { self.named = named }

    /// Where groups are made; looked for once.
    private var place: Place {
        known.withLock { known in
            if let known { return known }
            let found = find()
            if case .folder(let folder) = found { Self.removeForsaken(in: folder) }
            known = found
            return found
        }
    }

    /// Makes a group for the processes of one plugin.
    ///
    /// - Parameter processes: how many there may be.
    func make(processes: Int) -> Result<WorkerGroup, WorkerGroup.Unavailable> {
        switch place {
        case .none(let why): return .failure(WorkerGroup.Unavailable(reason: why))
        case .folder(let parent):
            do throws(SystemError) {
                return .success(try WorkerGroup(Self.makeChild(of: parent), processes: processes))
            } catch {
                return .failure(WorkerGroup.Unavailable(reason: "no group can be made in \(parent.path): \(error)"))
            }
        }
    }

    /// A group of its own: one that is there belongs to another host, whose process has the same number elsewhere.
    private static func makeChild(of parent: ControlGroupFolder) throws(SystemError) -> ControlGroupFolder {
        for _ in 0..<100 {
            let number = nextNumber.add(1, ordering: .relaxed).oldValue
            do throws(SystemError) {
                return try parent.makeChild("\(stem)\(getpid())-\(number)")
            } catch {
                guard error.code == EEXIST else { throw error }
            }
        }
        throw SystemError(EEXIST)
    }

    private static let stem = "coderhost-"
    private static let controllers: Set = ["memory", "pids"]
    /// The group that this process moves to, because a group with processes cannot limit the groups in it.
    private static let ownName = "coderhost"

    // MARK: The place

    /// Looks for a group that was left to this process.
    private func find() -> Place {
        if let named {
            guard case .none(let why) = Self.prepare(ControlGroupFolder(path: named)) else {
                return .folder(ControlGroupFolder(path: named))
            }
            return .none("CODERHOST_CGROUP: \(why)")
        }
        guard
            let membership = ControlGroupFolder(path: "/proc/self").read("cgroup"),
            let mounts = ControlGroupFolder(path: "/proc/self").read("mountinfo"),
            let path = Self.ownPath(membership: membership, mounts: mounts)
        else { return .none("there is no cgroup v2 here") }
        return Self.choose(ControlGroupFolder(path: path), process: getpid())
    }

    /// The folder of the group that this process is in; nil without cgroup v2.
    ///
    /// - Parameters:
    ///   - membership: `/proc/self/cgroup`.
    ///   - mounts: `/proc/self/mountinfo`; see proc(5).
    static func ownPath(membership: String, mounts: String) -> String? {
        guard let line = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        let group = String(line.dropFirst("0::".count))
        for mount in mounts.split(separator: "\n") {
            let fields = mount.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count, fields[dash + 1] == "cgroup2",
                dash >= 5
            else { continue }
            // What is mounted may be a part of the tree only.
            let root = fields[3] == "/" ? "" : String(fields[3])
            guard group == root || group.hasPrefix(root + "/") else { continue }
            let rest = group.dropFirst(root.count)
            return String(fields[4]) + (rest == "/" ? "" : rest)
        }
        return nil
    }

    /// A group that was left to this process: its own, if nobody else is in it, or the one around it.
    static func choose(
        _ own: ControlGroupFolder, process: pid_t, isDelegated: (ControlGroupFolder) -> Bool = { $0.isDelegated }
    ) -> Place {
        if isDelegated(own) {
            let processes = own.read("cgroup.procs")?.split(separator: "\n") ?? []
            guard processes == ["\(process)"] else {
                return .none("other processes run in the group \(own.path), too")
            }
            do throws(SystemError) {
                try own.makeChild(ownName, orFind: true).write("\(process)", to: "cgroup.procs")
            } catch {
                return .none("this process cannot leave the group \(own.path): \(error)")
            }
            return prepare(own)
        }
        let parent = ControlGroupFolder(path: own.path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" })
        if isDelegated(parent) { return prepare(parent) }
        return .none("the group \(own.path) was not left to this process")
    }

    /// Has the groups in a folder limited by the controllers.
    private static func prepare(_ folder: ControlGroupFolder) -> Place {
        func enabled() -> Set<String> {
            Set(folder.read("cgroup.subtree_control")?.split(separator: " ").map(String.init) ?? [])
        }
        let missing = controllers.subtracting(enabled()).sorted()
        if missing.isEmpty { return .folder(folder) }
        do throws(SystemError) {
            try folder.write(missing.map { "+\($0)" }.joined(separator: " "), to: "cgroup.subtree_control")
        } catch {
            return .none("\(missing.joined(separator: " and ")) cannot be limited in \(folder.path): \(error)")
        }
        return .folder(folder)
    }

    /// Removes the groups of processes that have ended without doing so.
    private static func removeForsaken(in folder: ControlGroupFolder) {
        for name in (try? directoryEntries(folder.path, beginningWith: stem)) ?? [] {
            guard let process = name.dropFirst(stem.count).split(separator: "-").first.flatMap({ pid_t($0) }),
                process != getpid(), kill(process, 0) != 0, errno == ESRCH
            else { continue }
            _ = ControlGroupFolder(path: "\(folder.path)/\(name)").remove()
        }
    }
}
