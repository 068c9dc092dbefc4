import CoderHost
import Glibc
import ImageProcessing
import Synchronization
import TestSupport

@testable import ImageLoading

/// A disk in memory that forgets, when the power goes, whatever was not synchronized, and that fails when it is told to.
///
/// What survives of unsynchronized bytes and names is chosen at random: each name of a folder by itself, and of a file's
/// bytes all, none, the first ones, or all but some blocks.
final class ModelDisk: DiskSystem {
    enum Fault: CaseIterable { case noSpace, noQuota, inputOutput, readOnly, noAccess, shortWrite, death }

    private struct Node {
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

    private struct Descriptor {
        var node: Int
        var lock: DiskLock?
    }

    private struct State {
        var nodes: [Int: Node] = [1: Node(isFolder: true, links: 1)]
        var descriptors: [Int32: Descriptor] = [:]
        var nextNode = 2
        var nextDescriptor: Int32 = 3
        var now: Int64 = 1_800_000_000_000_000_000
        var running: Int64 = 1_000_000_000
        var random: SeededRandom
        /// Chance of a fault in a call, out of 1000.
        var faultRate = 0
        var faultKinds = Fault.allCases
        var faults = 0
        var isDead = false
        var capacity = Int.max
        var isReadOnly = false
        var writes = 0
    }

    private let state: Mutex<State>
    let hasUnnamedFiles: Bool
    let hasLocks: Bool

    init(seed: UInt64, hasUnnamedFiles: Bool = true, hasLocks: Bool = true) {
        state = Mutex(State(random: SeededRandom(seed)))
        self.hasUnnamedFiles = hasUnnamedFiles
        self.hasLocks = hasLocks
        // What is there before any cache is.
        try? makeFolder("/var")
        try? makeFolder("/var/cache")
        losePower(choosing: false)
    }

    // MARK: What a test does to it

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
    /// Whether names can be given and taken away, as on a file system that was mounted so.
    func setReadOnly(_ isReadOnly: Bool) { state.withLock { $0.isReadOnly = isReadOnly } }
    func give(_ path: String, to owner: UInt32, _ group: UInt32, _ permissions: UInt32) {
        state.withLock { state in
            guard let node = Self.find(path, state) else { fatalError("no \(path)") }
            state.nodes[node]!.owner = owner
            state.nodes[node]!.group = group
            state.nodes[node]!.permissions = permissions
        }
    }
    /// Sets the calendar's clock, as a person would; the machine goes on as before.
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

    /// The power goes and comes back.
    ///
    /// - Parameter choosing: without it everything survives.
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

    private enum Call { case plain, write, space }

    /// One call: it may fail before anything is done, and a dead machine does nothing.
    private func call<R: Sendable>(
        _ kind: Call = .plain, _ body: @Sendable (inout State) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        let result = state.withLock { state -> Result<R, SystemError> in
            if state.isDead { return .failure(SystemError(EIO)) }
            // Two calls at one moment are told apart by nobody.
            state.now += 1000
            state.running += 1000
            if state.faultRate > 0, Int.random(in: 0..<1000, using: &state.random) < state.faultRate {
                let fault = state.faultKinds.randomElement(using: &state.random)!
                switch fault {
                case .shortWrite: break
                case .death:
                    state.faults += 1
                    // Before or after it is done.
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

    private static func find(_ path: String, _ state: State) -> Int? {
        var node = 1
        for name in path.split(separator: "/") where name != "." {
            guard let next = state.nodes[node]?.names[String(name)] else { return nil }
            node = next
        }
        return node
    }

    private static func split(_ path: String, _ state: State) throws(SystemError) -> (folder: Int, name: String) {
        let parts = path.split(separator: "/")
        guard let folder = find(parts.dropLast().joined(separator: "/"), state), let name = parts.last else {
            throw SystemError(ENOENT)
        }
        guard state.nodes[folder]!.isFolder else { throw SystemError(ENOTDIR) }
        return (folder, String(name))
    }

    private static func open(_ node: Int, _ state: inout State) -> Int32 {
        state.nextDescriptor += 1
        state.descriptors[state.nextDescriptor] = Descriptor(node: node)
        return state.nextDescriptor
    }

    private static func make(_ isFolder: Bool, _ state: inout State) -> Int {
        state.nextNode += 1
        state.nodes[state.nextNode] = Node(
            isFolder: isFolder, accessed: state.now, modified: state.now, changed: state.now, born: state.now)
        return state.nextNode
    }

    private static func add(_ name: String, _ node: Int, to folder: Int, _ state: inout State) {
        state.nodes[folder]!.names[name] = node
        state.nodes[node]!.links += 1
    }

    private static func take(_ name: String, from folder: Int, _ state: inout State) {
        guard let node = state.nodes[folder]!.names.removeValue(forKey: name) else { return }
        state.nodes[node]!.links -= 1
    }

    func now() -> Int64 { state.withLock { $0.now } }
    func running() -> (boot: String, time: Int64)? { state.withLock { ("model", $0.running) } }
    func user() -> (id: UInt32, group: UInt32) { (1000, 1000) }
    func pause() {}

    func open(_ path: String) throws(SystemError) -> Int32 {
        try call { state throws(SystemError) in
            guard let node = Self.find(path, state) else { throw SystemError(ENOENT) }
            return Self.open(node, &state)
        }
    }

    func openFolder(_ path: String) throws(SystemError) -> Int32 { try open(path) }

    func openLock(_ path: String) throws(SystemError) -> Int32 {
        try call { state throws(SystemError) in
            if state.isReadOnly { throw SystemError(EROFS) }
            if let node = Self.find(path, state) { return Self.open(node, &state) }
            let (folder, name) = try Self.split(path, state)
            let node = Self.make(false, &state)
            Self.add(name, node, to: folder, &state)
            return Self.open(node, &state)
        }
    }

    func createUnnamed(in folder: String) throws(SystemError) -> Int32 {
        if !hasUnnamedFiles { throw SystemError(EOPNOTSUPP) }
        return try call(.space) { state throws(SystemError) in
            guard Self.find(folder, state) != nil else { throw SystemError(ENOENT) }
            return Self.open(Self.make(false, &state), &state)
        }
    }

    func create(_ path: String) throws(SystemError) -> Int32 {
        try call(.space) { state throws(SystemError) in
            let (folder, name) = try Self.split(path, state)
            if state.nodes[folder]!.names[name] != nil { throw SystemError(EEXIST) }
            let node = Self.make(false, &state)
            Self.add(name, node, to: folder, &state)
            return Self.open(node, &state)
        }
    }

    func close(_ file: Int32) { state.withLock { $0.descriptors[file] = nil } }

    func read(_ file: Int32, at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
        try call { state throws(SystemError) in
            let bytes = state.nodes[state.descriptors[file]!.node]!.bytes
            return Array(bytes.dropFirst(offset).prefix(count))
        }
    }

    func write(_ file: Int32, _ bytes: RawSpan, at offset: Int) throws(SystemError) -> Int {
        let given = copyBytes(bytes)
        return try call(.write) { state throws(SystemError) in
            var all = given
            state.writes += 1
            if state.faultRate > 0, state.faultKinds.contains(.shortWrite), all.count > 1,
                Int.random(in: 0..<1000, using: &state.random) < state.faultRate * 4
            {
                state.faults += 1
                all.removeLast(Int.random(in: 1..<all.count, using: &state.random))
            }
            let node = state.descriptors[file]!.node
            let open = Set(state.descriptors.values.map(\.node))
            let used = state.nodes.reduce(0) {
                $0 + ($1.value.links > 0 || open.contains($1.key) ? $1.value.bytes.count : 0)
            }
            let room = state.capacity - used
            if room < all.count {
                if room <= 0 { throw SystemError(ENOSPC) }
                all.removeLast(all.count - room)
            }
            var content = state.nodes[node]!.bytes
            if content.count < offset + all.count {
                content += [UInt8](repeating: 0, count: offset + all.count - content.count)
            }
            content.replaceSubrange(offset..<(offset + all.count), with: all)
            state.nodes[node]!.bytes = content
            state.nodes[node]!.modified = state.now
            return all.count
        }
    }

    private static func facts(_ number: Int, _ state: State) -> FileFacts {
        let node = state.nodes[number]!
        return FileFacts(
            kind: node.isFolder ? .folder : .regular, inode: UInt64(number), links: node.links, size: node.bytes.count,
            allocated: (node.bytes.count + 511) / 512 * 512, accessed: node.accessed, modified: node.modified,
            changed: node.changed, born: node.born, owner: node.owner, group: node.group,
            permissions: node.permissions)
    }

    func facts(_ file: Int32) throws(SystemError) -> FileFacts {
        try call { state throws(SystemError) in Self.facts(state.descriptors[file]!.node, state) }
    }

    func facts(at path: String) throws(SystemError) -> FileFacts {
        try call { state throws(SystemError) in
            guard let node = Self.find(path, state) else { throw SystemError(ENOENT) }
            return Self.facts(node, state)
        }
    }

    func setDates(_ file: Int32, accessed: Int64?, modified: Int64?) throws(SystemError) {
        try call { state throws(SystemError) in
            let node = state.descriptors[file]!.node
            if let accessed { state.nodes[node]!.accessed = accessed }
            if let modified { state.nodes[node]!.modified = modified }
            state.nodes[node]!.changed = state.now
        }
    }

    func lock(_ file: Int32, _ kind: DiskLock) throws(SystemError) {
        if !hasLocks { throw SystemError(EOPNOTSUPP) }
        try call { state throws(SystemError) in
            let node = state.descriptors[file]!.node
            for (other, descriptor) in state.descriptors where other != file && descriptor.node == node {
                guard let held = descriptor.lock else { continue }
                if held == .exclusive || kind == .exclusive { throw SystemError(EWOULDBLOCK) }
            }
            state.descriptors[file]!.lock = kind
        }
    }

    func synchronize(_ file: Int32, isFolder: Bool) throws(SystemError) {
        try call(.write) { state throws(SystemError) in
            let node = state.descriptors[file]!.node
            if isFolder {
                state.nodes[node]!.synchronizedNames = state.nodes[node]!.names
            } else {
                state.nodes[node]!.synchronized = state.nodes[node]!.bytes
            }
        }
    }

    func giveName(_ file: Int32, _ path: String) throws(SystemError) {
        try call(.space) { state throws(SystemError) in
            let (folder, name) = try Self.split(path, state)
            if state.nodes[folder]!.names[name] != nil { throw SystemError(EEXIST) }
            Self.add(name, state.descriptors[file]!.node, to: folder, &state)
        }
    }

    func rename(_ path: String, to other: String) throws(SystemError) {
        try call(.space) { state throws(SystemError) in
            let (folder, name) = try Self.split(path, state)
            let (target, newName) = try Self.split(other, state)
            guard let node = state.nodes[folder]!.names[name] else { throw SystemError(ENOENT) }
            Self.take(newName, from: target, &state)
            Self.add(newName, node, to: target, &state)
            Self.take(name, from: folder, &state)
        }
    }

    func unlink(_ path: String) throws(SystemError) {
        try call { state throws(SystemError) in
            if state.isReadOnly { throw SystemError(EROFS) }
            let (folder, name) = try Self.split(path, state)
            guard state.nodes[folder]!.names[name] != nil else { throw SystemError(ENOENT) }
            Self.take(name, from: folder, &state)
        }
    }

    func makeFolder(_ path: String) throws(SystemError) {
        try call(.space) { state throws(SystemError) in
            let (folder, name) = try Self.split(path, state)
            if state.nodes[folder]!.names[name] != nil { throw SystemError(EEXIST) }
            Self.add(name, Self.make(true, &state), to: folder, &state)
        }
    }

    func removeFolder(_ path: String) throws(SystemError) {
        try call { state throws(SystemError) in
            let (folder, name) = try Self.split(path, state)
            guard let node = state.nodes[folder]!.names[name] else { throw SystemError(ENOENT) }
            guard state.nodes[node]!.names.isEmpty else { throw SystemError(ENOTEMPTY) }
            Self.take(name, from: folder, &state)
        }
    }

    func list(_ folder: String, _ visit: (_ name: String, FileFacts) -> Void) throws(SystemError) {
        let names = try call { state throws(SystemError) in
            guard let node = Self.find(folder, state) else { throw SystemError(ENOENT) }
            return state.nodes[node]!.names.sorted { $0.key < $1.key }.map { ($0.key, Self.facts($0.value, state)) }
        }
        for (name, facts) in names { visit(name, facts) }
    }
}
