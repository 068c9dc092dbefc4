package import Glibc
import HostSystem
import ImageProcessing
import struct Synchronization.Atomic

/// The control group (cgroup v2) in which this process creates one group per plugin with workers.
///
/// A group limits the total memory and number of processes of a plugin; limits per process do not limit their sum.
/// - Concurrency: any thread.
package final class ControlGroups: Sendable {
    /// The parent group, or the reason why there is none.
    package enum Place: Sendable, Hashable {
        case folder(ControlGroupFolder)
        case none(String)
    }

    private let named: String?
    private let known = Mutex<Place?>(nil)
    private static let nextNumber = Atomic<UInt64>(1)

    /// - Parameter named: the folder for new groups; nil searches for one.
    package init(named: String? = trustedEnvironment("CODERHOST_CGROUP")) { self.named = named }

    /// The parent group, searched once.
    private var place: Place {
        known.withLock { known in
            if let known { return known }
            let found = find()
            if case .folder(let folder) = found { Self.removeAbandoned(in: folder) }
            known = found
            return found
        }
    }

    /// Creates a group for the processes of one plugin.
    ///
    /// - Parameter processes: the maximum number of processes.
    package func make(processes: Int) -> Result<WorkerGroup, WorkerGroup.Unavailable> {
        switch place {
        case .none(let why): return .failure(WorkerGroup.Unavailable(reason: why))
        case .folder(let parent):
            do throws(SystemError) {
                return .success(try WorkerGroup(Self.makeChild(of: parent), processes: processes))
            } catch {
                return .failure(WorkerGroup.Unavailable(reason: "cannot create a group in \(parent.path): \(error)"))
            }
        }
    }

    /// Creates a new group.
    ///
    /// If the name is taken, another host with our process number in another namespace owns it; try the next.
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
    /// The group into which this process moves, because a group with processes cannot limit its child groups.
    private static let ownName = "coderhost"

    // MARK: The place

    /// Searches for a group that is delegated to this process.
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
        else { return .none("cgroup v2 is not available") }
        return Self.choose(ControlGroupFolder(path: path), process: getpid())
    }

    /// Returns the folder of the group of this process; nil without cgroup v2.
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
            // Only a part of the tree may be mounted.
            let root = fields[3] == "/" ? "" : String(fields[3])
            guard group == root || group.hasPrefix(root + "/") else { continue }
            let rest = group.dropFirst(root.count)
            return String(fields[4]) + (rest == "/" ? "" : rest)
        }
        return nil
    }

    /// Selects a delegated group: the own group if no other process is in it, or its parent.
    package static func choose(
        _ own: ControlGroupFolder, process: pid_t, isDelegated: (ControlGroupFolder) -> Bool = { $0.isDelegated }
    ) -> Place {
        if isDelegated(own) {
            let processes = own.read("cgroup.procs")?.split(separator: "\n") ?? []
            guard processes == ["\(process)"] else {
                return .none("other processes run in the group \(own.path)")
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
        return .none("the group \(own.path) is not delegated to this process")
    }

    /// Enables the controllers for the child groups of a folder.
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

    /// Removes the groups of processes that ended without cleanup.
    private static func removeAbandoned(in folder: ControlGroupFolder) {
        for name in (try? directoryEntries(folder.path, beginningWith: stem)) ?? [] {
            guard let process = name.dropFirst(stem.count).split(separator: "-").first.flatMap({ pid_t($0) }),
                process != getpid(), kill(process, 0) != 0, errno == ESRCH
            else { continue }
            _ = ControlGroupFolder(path: "\(folder.path)/\(name)").remove()
        }
    }
}
