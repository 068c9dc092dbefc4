import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// Files that appear, change and disappear while a host runs.
@Suite(.timeLimit(.minutes(40))) struct `A folder that changes` {
    private let red = ["-DCOLOR=0xff0000"]
    private let green = ["-DCOLOR=0x00ff00"]

    /// The first pixel of the decoded "BAD!".
    private func color(_ host: CoderHost) throws -> [UInt8] {
        Array(try host.manager.decode(badImage).pixels.packed.prefix(3))
    }

    @Test func `serves a new file`() throws {
        let folder = TemporaryDirectory()
        let host = testHost(folder.path, follows: true)
        try #require(host.plugins.isEmpty)
        try #require(!host.manager.canDecode(badImage))

        try BuiltPlugin.put("claims-formats", red, into: folder)

        #expect(try color(host) == [255, 0, 0])
    }

    @Test func `is not followed if that is disabled`() throws {
        let folder = TemporaryDirectory()
        let host = testHost(folder.path, follows: false)
        try #require(host.plugins.isEmpty)

        try BuiltPlugin.put("claims-formats", red, into: folder)

        #expect(!host.manager.canDecode(badImage))
    }

    enum Way: String, CaseIterable { case over, rename, removeAndCopy, link }

    /// Replaces an old version by a new one.
    private func replace(_ way: Way, _ folder: TemporaryDirectory, by flags: [String]) throws {
        let bytes = try BuiltPlugin.bytes("claims-formats", flags)
        let path = folder.file("libcoder-a.so")
        switch way {
        // Done by another process: child processes of other tests may hold a file open that this process writes.
        case .over: try shell("cp", folder.write(bytes, to: "new"), path)
        case .rename: try shell("mv", "-f", folder.write(bytes, to: "new"), path)
        case .removeAndCopy:
            try shell("rm", path)
            try shell("cp", folder.write(bytes, to: "new"), path)
        case .link: try shell("ln", "-sf", folder.write(bytes, to: "new"), path)
        }
    }

    @Test(arguments: Way.allCases) func `serves the new version of a replaced file`(way: Way) throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", red, into: folder, as: "libcoder-a.so")
        let host = testHost(folder.path, follows: true)
        try #require(try color(host) == [255, 0, 0])

        try replace(way, folder, by: green)
        #expect(try color(host) == [0, 255, 0])
        #expect(host.plugins.map(\.status.state) == [.loaded])

        try replace(way, folder, by: red)
        #expect(try color(host) == [255, 0, 0])
    }

    @Test(arguments: Way.allCases) func `does not affect an open session`(way: Way) throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", red, into: folder, as: "libcoder-a.so")
        let host = testHost(folder.path, follows: true)

        let pixels = try host.manager.withSession(badImage) { session throws(CoderError) in
            do { try replace(way, folder, by: green) } catch { throw CoderError(.inputOutput, "\(error)") }
            return try session.decodeImage()
        }

        #expect(pixels.packed.starts(with: [255, 0, 0]))
        #expect(try color(host) == [0, 255, 0])
    }

    @Test func `does not serve a removed file, but its session can finish`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", red, into: folder)
        let host = testHost(folder.path, follows: true)

        let pixels = try host.manager.withSession(badImage) { session throws(CoderError) in
            #expect(throws: Never.self) { try shell("rm", path) }
            return try session.decodeImage()
        }

        #expect(pixels.packed.starts(with: [255, 0, 0]))
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }
        #expect(error?.code == .unrecognizedFormat)
        #expect(host.plugins.isEmpty)
    }

    @Test func `serves the shadowed file while the first one is quarantined`() throws {
        let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
        let failed = try BuiltPlugin.put("claims-formats", red, into: first)
        let works = try BuiltPlugin.put("claims-formats", green, into: second)
        let host = testHost(first.path, second.path, state: TemporaryDirectory().path)
        try #require(try color(host) == [255, 0, 0])
        let record = try #require(host.plugins.first)
        host.quarantine.record(failure: .crash, phase: .load, of: record, try #require(record.contentHash))

        #expect(try color(host) == [0, 255, 0])
        #expect(host.plugins.map(\.path) == [failed, works])
        #expect(host.plugins.map(\.status.state) == [.quarantined, .loaded])
        #expect(host.plugins.last?.status.reason.hasPrefix("in place of \(failed), which is quarantined") == true)

        host.quarantine.clear()

        #expect(try color(host) == [255, 0, 0])
        #expect(host.plugins.map(\.status.state) == [.loaded, .shadowed])
        #expect(host.plugins.last?.status.reason == "by \(failed)")
    }

    /// A coder that runs an action while it is asked for its descriptor.
    private struct ObservingCoder: ImageCoder {
        let look: @Sendable () -> Void
        var descriptor: CoderDescriptor {
            look()
            return CoderDescriptor(id: "onlooker", version: "1", tier: .user, roles: [.decode], formats: [])
        }
        func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
            throw .notMine("it only looks on")
        }
        func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
            throw .notMine("likewise")
        }
    }

    @Test func `is reported as it was during the search for a coder`() throws {
        let folder = TemporaryDirectory()
        let bytes = try BuiltPlugin.bytes("claims-formats", red)
        let host = testHost(folder.path, follows: true)
        host.manager.addCoder(ObservingCoder { folder.write(bytes, to: "libcoder-late.so") })

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        #expect(error?.message == "no installed coder recognizes these bytes: there are no plugins")
        #expect(try color(host) == [255, 0, 0])
    }

    @Test func `serves the shadowed file after the first one is removed`() throws {
        let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", red, into: first)
        try BuiltPlugin.put("claims-formats", green, into: second)
        let host = testHost(first.path, second.path, follows: true)
        try #require(try color(host) == [255, 0, 0])

        try shell("rm", path)

        #expect(try color(host) == [0, 255, 0])
        #expect(host.plugins.map(\.status.state) == [.loaded])
    }

    @Test func `notices that the place of a file becomes trusted`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", red, into: folder)
        try shell("chmod", "o+w", path)
        let host = testHost(folder.path, follows: true)
        try #require(host.plugins.map(\.status.state) == [.untrustedPath])

        try shell("chmod", "o-w", path)

        #expect(host.plugins.map(\.status.state) == [.ready])
    }

    @Test(arguments: ["plugins", "share/coderhost/plugins/1"]) func `is followed even if it does not exist yet`(
        name: String
    ) throws {
        let parent = TemporaryDirectory()
        let host = testHost(parent.file(name), follows: true)
        try #require(host.plugins.isEmpty)

        try shell("mkdir", "-p", parent.file(name))
        parent.write(try BuiltPlugin.bytes("claims-formats", red), to: "\(name)/libcoder-a.so")
        #expect(try color(host) == [255, 0, 0])
        parent.write(try BuiltPlugin.bytes("claims-formats", green), to: "\(name)/libcoder-a.so")
        #expect(try color(host) == [0, 255, 0])
    }

    @Test func `tells a file from one that replaced it at once`() throws {
        let folder = TemporaryDirectory()
        // Small files of one size, so that several scans fit into one step of the file times.
        let versions = [UInt8(1), 2].map { [UInt8](repeating: $0, count: 100) }
        let host = testHost(folder.path, follows: true)
        var seen = Set(host.plugins.compactMap(\.examination.identity))

        for round in 1...20 {
            folder.write(versions[round % 2], to: "libcoder-a.so")
            seen.formUnion(host.plugins.compactMap(\.examination.identity))
            #expect(seen.count == round)
        }
    }

    @Test func `is followed after it is removed and created again`() throws {
        let parent = TemporaryDirectory()
        parent.folder("plugins")
        let host = testHost(parent.file("plugins"), follows: true)
        for flags in [red, green] {
            parent.folder("plugins")
            parent.write(try BuiltPlugin.bytes("claims-formats", flags), to: "plugins/libcoder-a.so")
            #expect(try color(host) == (flags == red ? [255, 0, 0] : [0, 255, 0]))
            try shell("rm", "-r", parent.file("plugins"))
            #expect(host.plugins.isEmpty)
        }
    }

    @Test func `wakes a caller that waits for a change`() async throws {
        let folder = TemporaryDirectory()
        let host = testHost(folder.path, follows: true)
        try #require(host.plugins.isEmpty)
        try #require(!host.waitForChange(milliseconds: 0))
        let bytes = try BuiltPlugin.bytes("claims-formats", red)

        async let woken = Task.detached { host.waitForChange(milliseconds: 60_000) }.value
        folder.write(bytes, to: "libcoder-a.so")

        #expect(await woken)
        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(!host.waitForChange(milliseconds: 0), "the change was already reported")
    }

    @Test func `is read completely by many threads while it changes`() async throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", red, into: folder, as: "libcoder-a.so")
        let host = testHost(folder.path, follows: true)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<40 {
                        let pixel = try color(host)
                        #expect(pixel == [255, 0, 0] || pixel == [0, 255, 0])
                    }
                }
            }
            for round in 0..<20 { try replace(.rename, folder, by: round % 2 == 0 ? green : red) }
            try replace(.rename, folder, by: green)
            try await group.waitForAll()
        }

        #expect(try color(host) == [0, 255, 0])
    }
}
