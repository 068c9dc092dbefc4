import CoderHost
import Glibc
import ImageProcessing
import TestSupport

@testable import ImageLoading

/// The calls of a disk system.
extension ModelDisk {
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
            allocated: (node.bytes.count + 511) / 512 * 512,
            dates: FileFacts.Dates(
                accessed: node.accessed, modified: node.modified, changed: node.changed, born: node.born),
            owner: node.owner, group: node.group, permissions: node.permissions)
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
