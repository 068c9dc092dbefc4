import Glibc
import ImageProcessing
import Synchronization

/// The control group of one plugin's processes; removed with the last reference.
///
/// - Concurrency: any thread.
final class WorkerGroup: Sendable {
    /// Why there is no group.
    struct Unavailable: Error, Hashable {
        let reason: String
    }

    private struct State {
        /// What the workers that live may take together; nil once one of them has no limit.
        var granted: Int?
        /// What the group was limited to last.
        var limit = WorkerGroup.loadingBytes
    }

    private let folder: ControlGroupFolder
    /// The file that a process writes to in order to enter the group.
    let entrance: File
    private let state = Mutex(State(granted: 0))

    /// The process that loads the plugin, and its guardian.
    private static let loadingBytes = 256 << 20

    /// - Parameter processes: how many processes and threads there may be in the group.
    init(_ folder: ControlGroupFolder, processes: Int) throws(SystemError) {
        self.folder = folder
        do throws(SystemError) {
            try folder.write("\(processes)", to: "pids.max")
            try folder.write("\(Self.loadingBytes)", to: "memory.max")
            entrance = try folder.open("cgroup.procs")
        } catch {
            _ = folder.remove()
            throw error
        }
        // Otherwise it could take as much again from the swap space; not every system has that file.
        try? folder.write("0", to: "memory.swap.max")
    }

    deinit {
        for _ in 0..<20 {
            if folder.remove() { return }
            // Its processes are ending.
            try? folder.write("1", to: "cgroup.kill")
            usleep(1000)
        }
    }

    var path: String { folder.path }

    /// Whether a process is in it.
    var isEntered: Bool { folder.read("cgroup.procs")?.isEmpty == false }

    /// Grants one more worker its memory; takes effect before the worker exists.
    ///
    /// The limit is never lowered: a worker that has ended may not have given back everything yet, and the kernel would
    /// end another one for that.
    /// - Parameter kept: the bytes of images that the host still holds; the kernel counts those that a worker wrote first.
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

    /// Takes back what a worker that has ended was granted.
    func dismiss(_ memory: WorkerMemory) {
        state.withLock { state in state.granted = state.granted.map { max(0, $0 - memory.groupBytes) } }
    }

    /// How often the processes have wanted more than the limit of the group.
    ///
    /// Not `oom_kill`, which also counts those that were ended because the whole system, or a group around this one, was out
    /// of memory.
    var shortages: Int {
        let line = folder.read("memory.events")?.split(separator: "\n").first { $0.hasPrefix("oom ") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }
}

extension Confinement.ControlGroup {
    /// Counts only what the kernel says: a process that could not enter is not held by the group.
    init(_ group: Result<WorkerGroup, WorkerGroup.Unavailable>) {
        switch group {
        case .success(let group) where group.isEntered: self = .inForce(group.path)
        case .success(let group): self = .none("the worker may not enter \(group.path)")
        case .failure(let unavailable): self = .none(unavailable.reason)
        }
    }
}
