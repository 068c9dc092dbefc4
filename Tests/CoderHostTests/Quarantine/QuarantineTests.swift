@testable import CoderHost
import Glibc
import ImageModel
@testable import PluginCatalogue
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The quarantine` {
    /// A clock that the test sets.
    private final class ManualClock: Sendable {
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

    @Test func `disables a plugin for a minute after a crash while loading`() throws {
        let folder = TemporaryDirectory()
        let clock = ManualClock()
        let quarantine = Quarantine(folder: folder.file("state/quarantine"), time: clock.time)
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
                == "it failed once, by a crash while loading; disabled since 1970-01-12T13:46:40Z "
                + "until 1970-01-12T13:47:40Z")
        #expect(status.remedy.contains("coderhost quarantine clear org.example.bad-plugin"))
        clock.wait(seconds: 60)
        #expect(isGranted(quarantine, record))
        #expect(!isGranted(quarantine, record), "only one trial at a time")
    }

    @Test func `removes a plugin that works again, including its back-off`() throws {
        let folder = TemporaryDirectory()
        let clock = ManualClock()
        let path = folder.file("quarantine")
        let quarantine = Quarantine(folder: path, time: clock.time)
        quarantine.record(failure: .hang, phase: .initialize, of: record(), Self.hash)
        clock.wait(seconds: 61)
        try #require(isGranted(quarantine, record()))

        quarantine.recordSuccess(of: record()) { () throws(PluginRefusal) in Self.hash }

        #expect(quarantine.entries.isEmpty)
        #expect(try directoryEntries(path).filter { $0.hasSuffix(".json") }.isEmpty)
        quarantine.record(failure: .hang, phase: .initialize, of: record(), Self.hash)
        #expect(quarantine.entries.first?.breaker.backOff == 60_000)
    }

    @Test func `does not hash plugins without an entry`() {
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

    @Test func `does not apply to a rebuilt file`() {
        let quarantine = Quarantine(folder: TemporaryDirectory().path)
        for _ in 0..<3 { quarantine.record(failure: .crash, phase: .decode, of: record(), Self.hash) }

        #expect(!isGranted(quarantine, record(), Self.hash))
        #expect(isGranted(quarantine, record(), Self.other))
    }

    @Test func `is shared by processes`() {
        let folder = TemporaryDirectory()
        let clock = ManualClock()
        let (a, b) = (
            Quarantine(folder: folder.path, time: clock.time), Quarantine(folder: folder.path, time: clock.time)
        )
        #expect(b.entries.isEmpty)
        a.record(failure: .violation, phase: .load, of: record(), Self.hash)

        #expect(!isGranted(b, record()))
        clock.wait(seconds: 60)
        #expect(isGranted(b, record()))
        #expect(!isGranted(a, record()))
        b.recordSuccess(of: record()) { () throws(PluginRefusal) in Self.hash }
        #expect(isGranted(a, record()))
    }

    @Test func `loses nothing in concurrent writes`() async {
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

    @Test func `keeps entries in memory that it cannot write`() throws {
        let folder = TemporaryDirectory()
        folder.write([], to: "file")
        let clock = ManualClock()
        let quarantine = Quarantine(folder: folder.file("file/quarantine"), time: clock.time)

        quarantine.record(failure: .crash, phase: .load, of: record(), Self.hash)

        #expect(!isGranted(quarantine, record()))
        #expect(quarantine.warnings.count == 1)
        #expect(quarantine.warnings.first?.contains("cannot be written: Not a directory") == true)
        clock.wait(seconds: 60)
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

    @Test func `writes one small file that only its owner can read`() throws {
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
    ]) func `ignores a damaged file`(what: String, by: String) throws {
        let folder = TemporaryDirectory()
        let (path, text) = try written(folder)
        try #require(text.contains(what))
        try #require(writeFile(path, Array(text.replacing(what, with: by).utf8)))
        let quarantine = Quarantine(folder: folder.path)

        #expect(isGranted(quarantine, record()))
        #expect(quarantine.entries.isEmpty)
        #expect(quarantine.warnings.contains { $0.contains(path) && $0.contains("damaged") })
        // The next failure replaces it.
        quarantine.record(failure: .hang, phase: .load, of: record(), Self.hash)
        #expect(!isGranted(quarantine, record()))
    }

    @Test func `ignores every truncated file`() throws {
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

    @Test(arguments: ["fifo", "folder", "huge", "loop"]) func `never waits for a file in its folder`(kind: String)
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

    @Test func `removes expired entries`() throws {
        let folder = TemporaryDirectory()
        let clock = ManualClock()
        let quarantine = Quarantine(folder: folder.path, time: clock.time)
        quarantine.record(failure: .crash, phase: .decode, of: record("old"), Self.hash)
        clock.wait(seconds: 3600)

        quarantine.record(failure: .crash, phase: .decode, of: record("new"), Self.hash)

        #expect(try directoryEntries(folder.path).filter { $0.hasSuffix(".json") }.count == 1)
    }

    // MARK: The host

    @Test func `removes a plugin from the host's list and restores it`() throws {
        let (folder, state) = (TemporaryDirectory(), TemporaryDirectory())
        try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path, state: state.path)
        let record = try #require(host.plugins.first)
        try #require(record.status.state == .ready && host.manager.canDecode(badImage))

        host.quarantine.record(failure: .crash, phase: .load, of: record, try #require(record.contentHash))

        #expect(host.plugins.map(\.status.state) == [.quarantined])
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }
        #expect(error?.code == .noCoder)
        #expect(error?.attempts.first?.contains("quarantined: it failed once, by a crash") == true)
        #expect(testHost(folder.path, state: state.path).plugins.map(\.status.state) == [.quarantined])
        #expect(try directoryEntries(state.path) == ["quarantine"])

        host.quarantine.clear(record.id)
        #expect(try host.manager.decode(badImage).coder == "org.example.bad")
    }

    @Test func `does not apply failures to a new build`() throws {
        let (folder, state) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path, follows: true, state: state.path)
        let record = try #require(host.plugins.first)
        host.quarantine.record(failure: .crash, phase: .load, of: record, try #require(record.contentHash))
        try #require(host.plugins.map(\.status.state) == [.quarantined])

        try shell("cp", folder.write(try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"]), to: "new"), path)

        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(try host.manager.decode(badImage).pixels.packed.starts(with: [0, 255, 0]))
    }
}
