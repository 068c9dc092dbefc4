import Glibc
package import HostSystem
import ImageProcessing

/// The control group of one plugin's processes; removed with its last reference.
///
/// - Concurrency: any thread.
package final class WorkerGroup: Sendable {
    /// Why there is no group.
    package struct Unavailable: Error, Hashable {
        package let reason: String
    }

    private struct State {
        /// The total memory of the current workers; nil once one of them has no limit.
        var granted: Int?
        /// The last limit of the group.
        var limit = WorkerGroup.loadingBytes
    }

    private let folder: ControlGroupFolder
    /// The file that a process writes to in order to enter the group.
    let entrance: File
    private let state = Mutex(State(granted: 0))

    /// The memory of the process that loads the plugin, and of its guardian.
    private static let loadingBytes = 256 << 20

    /// - Parameter processes: the maximum number of processes and threads in the group.
    package init(_ folder: ControlGroupFolder, processes: Int) throws(SystemError) {
        self.folder = folder
        do throws(SystemError) {
            try folder.write("\(processes)", to: "pids.max")
            try folder.write("\(Self.loadingBytes)", to: "memory.max")
            entrance = try folder.open("cgroup.procs")
        } catch {
            _ = folder.remove()
            throw error
        }
        // Without this, the group could use the same amount of swap again; not every system has this file.
        try? folder.write("0", to: "memory.swap.max")
    }

    deinit {
        for _ in 0..<20 {
            if folder.remove() { return }
            // The remaining processes are ending.
            try? folder.write("1", to: "cgroup.kill")
            usleep(1000)
        }
    }

    package var path: String { folder.path }

    /// Whether a process is in the group.
    package var isEntered: Bool { folder.read("cgroup.procs")?.isEmpty == false }

    /// Raises the limit for one more worker before the worker exists.
    ///
    /// The limit is never lowered: an ended worker may not have released all its memory yet, and the kernel would then
    /// kill another worker.
    /// - Parameter kept: the bytes of images that the host holds; the kernel charges pages to the worker that first
    ///   wrote them.
    func admit(_ memory: WorkerMemory, kept: Int) {
        state.withLock { state in
            state.granted = memory.groupBytes == 0 ? nil : state.granted.map { $0 + memory.groupBytes }
            let wanted = state.granted.map { $0 + Self.loadingBytes + kept } ?? Int.max
            guard wanted > state.limit else { return }
            do throws(SystemError) {
                try folder.write(wanted == Int.max ? "max" : "\(wanted)", to: "memory.max")
                state.limit = wanted
            } catch {
                // The next worker tries again.
            }
        }
    }

    /// Returns the granted memory of an ended worker.
    package func dismiss(_ memory: WorkerMemory) {
        state.withLock { state in state.granted = state.granted.map { max(0, $0 - memory.groupBytes) } }
    }

    /// How often the group reached its memory limit.
    ///
    /// Not `oom_kill`, which also counts processes killed because the system, or a parent group, ran out of memory.
    var shortages: Int {
        let line = folder.read("memory.events")?.split(separator: "\n").first { $0.hasPrefix("oom ") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }
}

extension Confinement.ControlGroup {
    /// Uses only the kernel's report: a process that could not enter the group is not limited by it.
    package init(_ group: Result<WorkerGroup, WorkerGroup.Unavailable>) {
        switch group {
        case .success(let group) where group.isEntered: self = .inForce(group.path)
        case .success(let group): self = .none("the worker cannot enter \(group.path)")
        case .failure(let unavailable): self = .none(unavailable.reason)
        }
    }
}
