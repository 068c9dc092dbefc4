import Glibc
import ImageModel
import Synchronization
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `The quarantine` {
    /// A clock that a test sets.
    private final class Hands: Sendable {
        private let value = Atomic(1_000_000_000)
        var time: Quarantine.Time { { self.value.load(ordering: .relaxed) } }
        func wait(seconds: Int) { value.add(seconds * 1000, ordering: .relaxed) }
    }

    private static let hash = ContentHash([UInt8](repeating: 0xA5, count: 32))!
    private static let other = ContentHash([UInt8](repeating: 0x5A, count: 32))!

    private func record(_ id: String = "org.example.bad-plugin") -> PluginRecord {
        PluginRecord(
            path: "/plugins/\(id)", directory: .init("/plugins", origin: .user), tier: .user,
            status: PluginStatus(.ready), manifest: nil, needed: [])
    }

    private func isGranted(
        _ quarantine: Quarantine, _ record: PluginRecord, _ hash: ContentHash = Self.hash
    ) -> Bool { quarantine.admit(record) { () throws(PluginRefusal) in hash } == .granted }

    @Test func `leaves alone what crashed while it was loaded, until a minute has gone`() throws {
        let folder = TemporaryDirectory()
        let hands = Hands()
        let quarantine = Quarantine(folder: folder.file("state/quarantine"), time: hands.time)
        let record = record()
        #expect(isGranted(quarantine, record))

        quarantine.record(failure: .crash, phase: .load, of: record, Self.hash)

        let admission = quarantine.admit(record) { () throws(PluginRefusal) in Self.hash }
        guard case .refused(let status) = admission else {
            Issue.record("it was granted")
            return
        }
        #expect(status.state == .quarantined)
        #expect(
            status.reason
                == "it failed once; last it crashed while it was loaded; not used since 1970-01-12T13:46:40Z, "
                + "tried again at 1970-01-12T13:47:40Z")
        #expect(status.remedy.contains("coderhost quarantine clear org.example.bad-plugin"))
        hands.wait(seconds: 60)
        #expect(isGranted(quarantine, record))
        #expect(!isGranted(quarantine, record), "one is tried at a time")
    }

    @Test func `forgets a plugin that works again, and with it the back-off`() throws {
        let folder = TemporaryDirectory()
        let hands = Hands()
        let path = folder.file("quarantine")
        let quarantine = Quarantine(folder: path, time: hands.time)
        quarantine.record(failure: .hang, phase: .initialise, of: record(), Self.hash)
        hands.wait(seconds: 61)
        try #require(isGranted(quarantine, record()))

        quarantine.recordSuccess(of: record()) { () throws(PluginRefusal) in Self.hash }

        #expect(quarantine.entries.isEmpty)
        #expect(try directoryEntries(path).filter { $0.hasSuffix(".json") }.isEmpty)
        quarantine.record(failure: .hang, phase: .initialise, of: record(), Self.hash)
        #expect(quarantine.entries.first?.breaker.backOff == 60_000)
    }

    @Test func `does not hash what it knows nothing of`() {
        let quarantine = Quarantine(folder: TemporaryDirectory().path)
        quarantine.record(failure: .crash, phase: .load, of: record("org.example.first"), Self.hash)
        let second = record("org.example.second")
        func unexpected() throws(PluginRefusal) -> ContentHash {
            Issue.record("it was hashed")
            throw .changed
        }

        #expect(quarantine.admit(second, unexpected) == .granted)
        #expect(quarantine.verdict(of: second) == nil)
        quarantine.recordSuccess(of: second, unexpected)
        quarantine.recordSuccess(of: record("org.example.first"), unexpected)
    }

    @Test func `gives a file that was rebuilt a fresh chance`() {
        let quarantine = Quarantine(folder: TemporaryDirectory().path)
        for _ in 0..<3 { quarantine.record(failure: .crash, phase: .decode, of: record(), Self.hash) }

        #expect(!isGranted(quarantine, record(), Self.hash))
        #expect(isGranted(quarantine, record(), Self.other))
    }

    @Test func `is shared by processes`() {
        let folder = TemporaryDirectory()
        let hands = Hands()
        let (a, b) = (
            Quarantine(folder: folder.path, time: hands.time), Quarantine(folder: folder.path, time: hands.time)
        )
        #expect(b.entries.isEmpty)
        a.record(failure: .violation, phase: .load, of: record(), Self.hash)

        #expect(!isGranted(b, record()))
        hands.wait(seconds: 60)
        #expect(isGranted(b, record()))
        #expect(!isGranted(a, record()))
        b.recordSuccess(of: record()) { () throws(PluginRefusal) in Self.hash }
        #expect(isGranted(a, record()))
    }

    @Test func `loses nothing when many write at once`() async {
        let folder = TemporaryDirectory()
        let processes = (0..<4).map { _ in Quarantine(folder: folder.path) }

        await withTaskGroup(of: Void.self) { group in
            for (index, quarantine) in processes.enumerated() {
                group.addTask {
                    for _ in 0..<4 {
                        quarantine.record(failure: .crash, phase: .decode, of: record(), Self.hash)
                        quarantine.record(failure: .hang, phase: .decode, of: record("org.example.\(index)"), Self.hash)
                    }
                }
            }
        }

        let entries = Quarantine(folder: folder.path).entries
        #expect(entries.first { $0.plugin == "org.example.bad-plugin" }?.failureCount == 16)
        #expect(entries.count == 5)
        #expect(processes.flatMap(\.warnings).isEmpty)
    }

    @Test func `remembers by itself what it cannot write`() throws {
        let folder = TemporaryDirectory()
        folder.write([], to: "file")
        let hands = Hands()
        let quarantine = Quarantine(folder: folder.file("file/quarantine"), time: hands.time)

        quarantine.record(failure: .crash, phase: .load, of: record(), Self.hash)

        #expect(!isGranted(quarantine, record()))
        #expect(quarantine.warnings.count == 1)
        #expect(quarantine.warnings.first?.contains("cannot be written: Not a directory") == true)
        hands.wait(seconds: 60)
        #expect(isGranted(quarantine, record()))
        #expect(!isGranted(quarantine, record()))
        quarantine.recordSuccess(of: record()) { () throws(PluginRefusal) in Self.hash }
        #expect(isGranted(quarantine, record()))
    }

    @Test func `needs no folder`() {
        let quarantine = Quarantine(folder: nil)
        quarantine.record(failure: .crash, phase: .load, of: record(), Self.hash)

        #expect(!isGranted(quarantine, record()))
        #expect(quarantine.clear() == 1)
        #expect(isGranted(quarantine, record()))
        #expect(quarantine.warnings.isEmpty)
    }

    // MARK: The ledger

    private func written(_ folder: TemporaryDirectory) throws -> (path: String, text: String) {
        Quarantine(folder: folder.path).record(failure: .crash, phase: .load, of: record(), Self.hash)
        let name = try #require(try directoryEntries(folder.path).first { $0.hasSuffix(".json") })
        return (folder.file(name), String(decoding: try #require(readFile(folder.file(name))), as: UTF8.self))
    }

    @Test func `writes one small file that its owner alone can read`() throws {
        let folder = TemporaryDirectory()
        let (path, text) = try written(folder)

        #expect(path == folder.file("org.example.bad-plugin-a5a5a5a5a5a5a5a5.json"))
        #expect(FileStatus.of(path)?.mode == S_IFREG | 0o600)
        #expect(text.contains(#""failures": [{"at": "#) && text.contains(#""phase": "load"}]}"#))
    }

    @Test(arguments: [
        ("\"schema\": 1", "\"schema\": 2"), ("\"a5a5", "\"a5a"), ("\"kind\": \"crash\"", "\"kind\": \"curse\""),
        ("\"back_off\": 60000", "\"back_off\": -1"), ("\"back_off\": 60000", "\"back_off\": 9223372036854775807"),
        ("\"until\": ", "\"until\": -"), ("\"until\": ", "\"until\": 9000000"), ("\"at\": ", "\"at\": \"x\", \"b\": "),
        ("{\"at\"", "[[[[[[[[[[[[[[[[[[[[[[[[[[\"at\""), ("org.example.bad-plugin", "../../x"), ("}", ""),
        ("\"failures\": [{", "\"failures\": [], \"more\": [{"),
    ]) func `passes over a damaged file`(what: String, by: String) throws {
        let folder = TemporaryDirectory()
        let (path, text) = try written(folder)
        try #require(text.contains(what))
        try #require(writeFile(path, Array(text.replacing(what, with: by).utf8)))
        let quarantine = Quarantine(folder: folder.path)

        #expect(isGranted(quarantine, record()))
        #expect(quarantine.entries.isEmpty)
        #expect(quarantine.warnings.contains { $0.contains(path) && $0.contains("damaged") })
        // It is replaced by the next failure.
        quarantine.record(failure: .hang, phase: .load, of: record(), Self.hash)
        #expect(!isGranted(quarantine, record()))
    }

    @Test func `passes over every file that was cut`() throws {
        let folder = TemporaryDirectory()
        let (path, text) = try written(folder)
        let bytes = Array(text.utf8)

        for count in 0..<bytes.count - 2 {
            try #require(writeFile(path, Array(bytes[..<count])))
            let quarantine = Quarantine(folder: folder.path)
            #expect(quarantine.entries.isEmpty)
            #expect(quarantine.warnings.count == 1)
        }
    }

    @Test(arguments: ["fifo", "folder", "huge", "loop"]) func `never waits for what stands in its folder`(kind: String)
        throws
    {
        let folder = TemporaryDirectory()
        let path = folder.file("x-0000000000000000.json")
        switch kind {
        case "fifo": try shell("mkfifo", path)
        case "folder": folder.folder("x-0000000000000000.json")
        case "huge": try shell("truncate", "-s", "1G", path)
        default: try shell("ln", "-s", path, path)
        }
        let quarantine = Quarantine(folder: folder.path)

        quarantine.record(failure: .crash, phase: .load, of: record(), Self.hash)

        #expect(quarantine.entries.count == 1)
        #expect(quarantine.warnings.count == 1)
        #expect(quarantine.clear() == 1)
        #expect(quarantine.entries.isEmpty)
    }

    @Test func `clears one plugin or all, damaged files among them`() throws {
        let folder = TemporaryDirectory()
        let quarantine = Quarantine(folder: folder.path)
        for id in ["a", "b", "c"] { quarantine.record(failure: .crash, phase: .load, of: record(id), Self.hash) }
        folder.write([1, 2, 3], to: "d-0.json")

        #expect(quarantine.clear("a") == 1)
        #expect(quarantine.clear("a") == 0)
        #expect(quarantine.entries.map(\.plugin) == ["b", "c"])
        #expect(quarantine.clear() == 2)
        #expect(try directoryEntries(folder.path) == [".lock"])
    }

    @Test func `takes away what has no say any more`() throws {
        let folder = TemporaryDirectory()
        let hands = Hands()
        let quarantine = Quarantine(folder: folder.path, time: hands.time)
        quarantine.record(failure: .crash, phase: .decode, of: record("old"), Self.hash)
        hands.wait(seconds: 3600)

        quarantine.record(failure: .crash, phase: .decode, of: record("new"), Self.hash)

        #expect(try directoryEntries(folder.path).filter { $0.hasSuffix(".json") }.count == 1)
    }

    // MARK: The host

    @Test func `takes a plugin out of the host's list, and puts it back`() throws {
        let (folder, state) = (TemporaryDirectory(), TemporaryDirectory())
        try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path, state: state.path)
        let record = try #require(host.plugins.first)
        try #require(record.status.state == .ready && host.manager.canDecode(badPicture))

        host.quarantine.record(failure: .crash, phase: .load, of: record, try #require(record.contentHash))

        #expect(host.plugins.map(\.status.state) == [.quarantined])
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badPicture) }
        #expect(error?.code == .noCoder)
        #expect(error?.attempts.first?.contains("quarantined: it failed once; last it crashed") == true)
        #expect(testHost(folder.path, state: state.path).plugins.map(\.status.state) == [.quarantined])
        #expect(try directoryEntries(state.path) == ["quarantine"])

        host.quarantine.clear(record.id)
        #expect(try host.manager.decode(badPicture).coder == "org.example.bad")
    }

    @Test func `does not hold a new build to what the old one did`() throws {
        let (folder, state) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path, follows: true, state: state.path)
        let record = try #require(host.plugins.first)
        host.quarantine.record(failure: .crash, phase: .load, of: record, try #require(record.contentHash))
        try #require(host.plugins.map(\.status.state) == [.quarantined])

        try shell("cp", folder.write(try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"]), to: "new"), path)

        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(try host.manager.decode(badPicture).pixels.packed.starts(with: [0, 255, 0]))
    }
}
