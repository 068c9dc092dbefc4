import CoderHost
import Glibc
@testable import HostSystem
@testable import ImageLoading
import ImageProcessing
import TestSupport

/// A simulated disk in memory: a power loss drops unsynchronized data, and a test can make calls fail.
///
/// The surviving part of unsynchronized data is chosen at random. Each name in a folder survives independently. Of a
/// file's bytes all survive, or none, or the first ones, or all except some blocks.
final class ModelDisk: DiskSystem {
    enum Fault: CaseIterable { case noSpace, noQuota, inputOutput, readOnly, noAccess, shortWrite, death }

    struct Node {
        var isFolder = false
        var bytes: [UInt8] = []
        var synchronized: [UInt8]?
        var names: [String: Int] = [:]
        var synchronizedNames: [String: Int] = [:]
        var links = 0
        var accessed: Int64 = 0
        var modified: Int64 = 0
        var changed: Int64 = 0
        var born: Int64 = 0
        var owner: UInt32 = 1000
        var group: UInt32 = 1000
        var permissions: UInt32 = 0o700
    }

    struct Descriptor {
        var node: Int
        var lock: DiskLock?
    }

    struct State {
        var nodes: [Int: Node] = [1: Node(isFolder: true, links: 1)]
        var descriptors: [Int32: Descriptor] = [:]
        var nextNode = 2
        var nextDescriptor: Int32 = 3
        var now: Int64 = 1_800_000_000_000_000_000
        var running: Int64 = 1_000_000_000
        var random: SeededRandom
        /// Probability of a fault per call, out of 1000.
        var faultRate = 0
        var faultKinds = Fault.allCases
        var faults = 0
        var isDead = false
        var capacity = Int.max
        var isReadOnly = false
        var writes = 0
    }

    let state: Mutex<State>
    let hasUnnamedFiles: Bool
    let hasLocks: Bool

    init(seed: UInt64, hasUnnamedFiles: Bool = true, hasLocks: Bool = true) {
        state = Mutex(State(random: SeededRandom(seed)))
        self.hasUnnamedFiles = hasUnnamedFiles
        self.hasLocks = hasLocks
        // The folders that exist before the cache does.
        try? makeFolder("/var")
        try? makeFolder("/var/cache")
        losePower(choosing: false)
    }

    // MARK: Control by tests

    var faults: Int { state.withLock { $0.faults } }
    var isDead: Bool { state.withLock { $0.isDead } }
    var openFiles: Int { state.withLock { $0.descriptors.count } }
    var writes: Int { state.withLock { $0.writes } }
    func setFaults(rate: Int, _ kinds: [Fault] = Fault.allCases) {
        state.withLock {
            $0.faultRate = rate
            $0.faultKinds = kinds
        }
    }
    func setCapacity(_ bytes: Int) { state.withLock { $0.capacity = bytes } }
    /// Whether changes of names fail, as on a file system that was mounted read-only.
    func setReadOnly(_ isReadOnly: Bool) { state.withLock { $0.isReadOnly = isReadOnly } }
    func give(_ path: String, to owner: UInt32, _ group: UInt32, _ permissions: UInt32) {
        state.withLock { state in
            guard let node = Self.find(path, state) else { fatalError("no \(path)") }
            state.nodes[node]!.owner = owner
            state.nodes[node]!.group = group
            state.nodes[node]!.permissions = permissions
        }
    }
    /// Changes the calendar clock only; the monotonic clock continues.
    func setClock(by seconds: Int64) { state.withLock { $0.now += seconds * 1_000_000_000 } }
    func wait(_ seconds: Int64) {
        state.withLock {
            $0.now += seconds * 1_000_000_000
            $0.running += seconds * 1_000_000_000
        }
    }

    /// The paths of all files.
    func paths() -> [String] {
        state.withLock { state in
            func below(_ node: Int, _ path: String) -> [String] {
                state.nodes[node]!.names.flatMap { name, child in
                    state.nodes[child]!.isFolder ? below(child, "\(path)/\(name)") : ["\(path)/\(name)"]
                }
            }
            return below(1, "").sorted()
        }
    }

    func change(_ path: String, _ body: (inout [UInt8]) -> Void) {
        state.withLock { state in
            guard let node = Self.find(path, state) else { fatalError("no \(path)") }
            body(&state.nodes[node]!.bytes)
        }
    }

    /// Simulates a power loss.
    ///
    /// - Parameter choosing: false lets all data survive.
    func losePower(choosing: Bool = true) {
        state.withLock { state in
            state.descriptors = [:]
            state.isDead = false
            state.running = 0
            for number in state.nodes.keys.sorted() {
                var node = state.nodes[number]!
                if node.isFolder {
                    for name in Set(node.names.keys).union(node.synchronizedNames.keys).sorted()
                    where choosing && node.names[name] != node.synchronizedNames[name]
                        && Bool.random(using: &state.random)
                    {
                        node.names[name] = node.synchronizedNames[name]
                    }
                    node.synchronizedNames = node.names
                } else {
                    if choosing && node.synchronized != node.bytes {
                        node.bytes = Self.remains(of: node, &state.random)
                    }
                    node.synchronized = node.bytes
                }
                state.nodes[number] = node
            }
            var links: [Int: Int] = [1: 1]
            var waiting = [1]
            while let number = waiting.popLast() {
                for child in state.nodes[number]!.names.values {
                    links[child, default: 0] += 1
                    if state.nodes[child]!.isFolder { waiting.append(child) }
                }
            }
            state.nodes = state.nodes.filter { links[$0.key] != nil }
            for (number, count) in links { state.nodes[number]!.links = count }
        }
    }

    private static func remains(of node: Node, _ random: inout SeededRandom) -> [UInt8] {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return node.synchronized ?? []
        case 1: return node.bytes
        case 2: return Array(node.bytes.prefix(Int.random(in: 0...node.bytes.count, using: &random)))
        default:
            var bytes = node.bytes
            for block in stride(from: 0, to: bytes.count, by: 512) where Bool.random(using: &random) {
                for at in block..<min(block + 512, bytes.count) { bytes[at] = 0 }
            }
            return bytes
        }
    }

    // MARK: Calls

    enum Call { case plain, write, space }

    /// Performs one call; it may fail before it changes anything, and always fails after a crash.
    func call<R: Sendable>(
        _ kind: Call = .plain, _ body: @Sendable (inout State) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        let result = state.withLock { state -> Result<R, SystemError> in
            if state.isDead { return .failure(SystemError(EIO)) }
            // Advance the clock, so that two calls have different times.
            state.now += 1000
            state.running += 1000
            if state.faultRate > 0, Int.random(in: 0..<1000, using: &state.random) < state.faultRate {
                let fault = state.faultKinds.randomElement(using: &state.random)!
                switch fault {
                case .shortWrite: break
                case .death:
                    state.faults += 1
                    // Crash before or after the call.
                    if Bool.random(using: &state.random) { _ = try? body(&state) }
                    state.isDead = true
                    return .failure(SystemError(EIO))
                case .noSpace, .noQuota:
                    if kind == .plain { break }
                    state.faults += 1
                    return .failure(SystemError(fault == .noSpace ? ENOSPC : EDQUOT))
                case .inputOutput, .readOnly, .noAccess:
                    state.faults += 1
                    return .failure(SystemError(fault == .inputOutput ? EIO : fault == .readOnly ? EROFS : EACCES))
                }
            }
            do throws(SystemError) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    static func find(_ path: String, _ state: State) -> Int? {
        var node = 1
        for name in path.split(separator: "/") where name != "." {
            guard let next = state.nodes[node]?.names[String(name)] else { return nil }
            node = next
        }
        return node
    }

    static func split(_ path: String, _ state: State) throws(SystemError) -> (folder: Int, name: String) {
        let parts = path.split(separator: "/")
        guard let folder = find(parts.dropLast().joined(separator: "/"), state), let name = parts.last else {
            throw SystemError(ENOENT)
        }
        guard state.nodes[folder]!.isFolder else { throw SystemError(ENOTDIR) }
        return (folder, String(name))
    }

    static func open(_ node: Int, _ state: inout State) -> Int32 {
        state.nextDescriptor += 1
        state.descriptors[state.nextDescriptor] = Descriptor(node: node)
        return state.nextDescriptor
    }

    static func make(_ isFolder: Bool, _ state: inout State) -> Int {
        state.nextNode += 1
        state.nodes[state.nextNode] = Node(
            isFolder: isFolder, accessed: state.now, modified: state.now, changed: state.now, born: state.now)
        return state.nextNode
    }

    static func add(_ name: String, _ node: Int, to folder: Int, _ state: inout State) {
        state.nodes[folder]!.names[name] = node
        state.nodes[node]!.links += 1
    }

    static func take(_ name: String, from folder: Int, _ state: inout State) {
        guard let node = state.nodes[folder]!.names.removeValue(forKey: name) else { return }
        state.nodes[node]!.links -= 1
    }
}
