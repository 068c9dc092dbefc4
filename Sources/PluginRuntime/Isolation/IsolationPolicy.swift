import HostSystem

/// Where plugins run: in this process, or each image in its own sandboxed process.
public struct IsolationPolicy: Sendable, Hashable {
    /// When a worker is used.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// Bundled coders decode local and in-memory data in this process; bytes from a network, and every third-party
        /// plugin, go to a worker. If no worker is available, the report states it, and a plugin that requires
        /// isolation is refused.
        case auto
        /// Every plugin runs in a worker; sessions fail if the sandbox lacks a mechanism.
        case require
        /// Every plugin runs in this process.
        case off
    }

    /// How many images one worker processes before it ends.
    package enum Reuse: Sendable, Hashable {
        /// One; no data of an image remains for the next one.
        case fresh
        /// Up to this number, for images of one origin.
        case reuse(Int)

        package var sessions: Int {
            switch self {
            case .fresh: 1
            case .reuse(let count): max(1, count)
            }
        }
    }

    /// When a worker is used.
    package var mode: Mode
    /// How many images one worker processes.
    package var reuse: Reuse
    /// The mechanisms that `.require` demands.
    package var needed: Set<Confinement.Group>
    /// The maximum number of simultaneous workers; further sessions wait for one.
    public var maxWorkers: Int
    /// The program `coderhost-worker`; nil searches beside the executable and in the system folders.
    package var workerPath: String?
    /// The idle timeout of a plugin process in seconds.
    var idleSeconds = 30
    /// Whether to record system calls that are refused without ending the plugin, for the conformance kit.
    package var recordsRefusals = false

    /// Creates a policy for a mode, with a new worker for each image.
    public init(_ mode: Mode = .auto) { self.init(mode, reuse: .fresh) }

    /// Creates a policy.
    package init(
        _ mode: Mode = .auto, reuse: Reuse = .fresh, needed: Set<Confinement.Group> = Set(Confinement.Group.allCases),
        maxWorkers: Int = 64, workerPath: String? = nil
    ) {
        self.mode = mode
        self.reuse = reuse
        self.needed = needed
        self.maxWorkers = maxWorkers
        self.workerPath = workerPath
    }

    /// The places to search for the worker program, unless `CODERHOST_WORKER` is set.
    static func workerCandidates() -> [String] {
        var result: [String] = []
        if let place = ProcessImage.place {
            result.append("\(place.prefix)/libexec/coderhost/coderhost-worker")
            result.append("\(place.folder)/coderhost-worker")
        }
        result += ["/usr/local", "/usr"].map { "\($0)/libexec/coderhost/coderhost-worker" }
        return result
    }
}
