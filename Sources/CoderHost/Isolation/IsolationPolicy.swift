/// Where plugins run: in this process, or each picture in a sandboxed process of its own.
public struct IsolationPolicy: Sendable, Hashable {
    /// When a worker is used.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// A bundled coder reads what is no stranger's in this process; bytes from a network, and every third-party
        /// plugin, go to a worker. Where there is none to be had, the report says so, and a plugin that requires
        /// isolation is refused.
        case auto
        /// Every plugin goes to a worker; nothing is decoded where the sandbox lacks something of ``needed``.
        case require
        /// Every plugin runs in this process.
        case off
    }

    /// How many pictures one worker decodes or encodes before it is ended.
    public enum Reuse: Sendable, Hashable {
        /// One: nothing of a picture is left when the next one comes.
        case fresh
        /// Up to so many, for pictures of one origin.
        case reuse(Int)

        var sessions: Int {
            switch self {
            case .fresh: 1
            case .reuse(let count): max(1, count)
            }
        }
    }

    public var mode: Mode
    public var reuse: Reuse
    /// What `.require` insists on.
    public var needed: Set<Confinement.Group>
    /// Workers at one time; whoever wants one more waits in line.
    public var maxWorkers: Int
    /// The program `coderhost-worker`; nil looks for it beside the executable and in the system's folders.
    public var workerPath: String?
    /// Seconds after which a process that nobody asks anything ends by itself.
    package var idleSeconds = 30
    /// Whether system calls that are refused without ending the plugin are recorded; for the conformance kit.
    package var recordsRefusals = false

    public init(
        _ mode: Mode = .auto, reuse: Reuse = .fresh, needed: Set<Confinement.Group> = Set(Confinement.Group.allCases),
        maxWorkers: Int = 64, workerPath: String? = nil
    ) {
        self.mode = mode
        self.reuse = reuse
        self.needed = needed
        self.maxWorkers = maxWorkers
        self.workerPath = workerPath
    }

    /// Where the worker's program is looked for, unless `CODERHOST_WORKER` names it.
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
