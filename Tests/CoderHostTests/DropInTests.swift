import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// Files that come, change and go while a host runs.
@Suite(.timeLimit(.minutes(40))) struct `A folder that changes` {
    private let red = ["-DCOLOR=0xff0000"]
    private let green = ["-DCOLOR=0x00ff00"]

    /// The first pixel of what the host makes of "BAD!".
    private func color(_ host: CoderHost) throws -> [UInt8] {
        Array(try host.manager.decode(badPicture).pixels.packed.prefix(3))
    }

    @Test func `serves a file that is copied in`() throws {
        let folder = TemporaryDirectory()
        let host = testHost(folder.path, follows: true)
        try #require(host.plugins.isEmpty)
        try #require(!host.manager.canDecode(badPicture))

        try BuiltPlugin.put("claims-formats", red, into: folder)

        #expect(try color(host) == [255, 0, 0])
    }

    @Test func `does not follow when it was told not to`() throws {
        let folder = TemporaryDirectory()
        let host = testHost(folder.path, follows: false)
        try #require(host.plugins.isEmpty)

        try BuiltPlugin.put("claims-formats", red, into: folder)

        #expect(!host.manager.canDecode(badPicture))
    }

    enum Way: String, CaseIterable { case over, rename, removeAndCopy, link }

    /// Puts a new version in the place of an old one.
    private func replace(_ way: Way, _ folder: TemporaryDirectory, by flags: [String]) throws {
        let bytes = try BuiltPlugin.bytes("claims-formats", flags)
        let path = folder.file("libcoder-a.so")
        switch way {
        // By another process: what this one writes is only closed when programs that other tests start let go of it.
        case .over: try shell("cp", folder.write(bytes, to: "new"), path)
        case .rename: try shell("mv", "-f", folder.write(bytes, to: "new"), path)
        case .removeAndCopy:
            try shell("rm", path)
            try shell("cp", folder.write(bytes, to: "new"), path)
        case .link: try shell("ln", "-sf", folder.write(bytes, to: "new"), path)
        }
    }

    @Test(arguments: Way.allCases) func `serves the new version of a file that was replaced`(way: Way) throws {
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

    @Test(arguments: Way.allCases) func `lets an open session finish with the old version`(way: Way) throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", red, into: folder, as: "libcoder-a.so")
        let host = testHost(folder.path, follows: true)

        let pixels = try host.manager.withSession(badPicture) { session throws(CoderError) in
            do { try replace(way, folder, by: green) } catch { throw CoderError(.inputOutput, "\(error)") }
            return try session.decodeImage()
        }

        #expect(pixels.packed.starts(with: [255, 0, 0]))
        #expect(try color(host) == [0, 255, 0])
    }

    @Test func `does not serve a file that was removed, but lets its session finish`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", red, into: folder)
        let host = testHost(folder.path, follows: true)

        let pixels = try host.manager.withSession(badPicture) { session throws(CoderError) in
            #expect(throws: Never.self) { try shell("rm", path) }
            return try session.decodeImage()
        }

        #expect(pixels.packed.starts(with: [255, 0, 0]))
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badPicture) }
        #expect(error?.code == .unrecognizedFormat)
        #expect(host.plugins.isEmpty)
    }

    @Test func `serves the file in the shadow while the one above it is quarantined, and says so`() throws {
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

    /// A coder that does something while it is asked who it is.
    private struct Onlooker: ImageCoder {
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

    @Test func `is told of as it was when a coder was looked for`() throws {
        let folder = TemporaryDirectory()
        let bytes = try BuiltPlugin.bytes("claims-formats", red)
        let host = testHost(folder.path, follows: true)
        host.manager.addCoder(Onlooker { folder.write(bytes, to: "libcoder-late.so") })

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badPicture) }

        #expect(error?.message == "no installed coder recognises these bytes: there is no plugin at all")
        #expect(try color(host) == [255, 0, 0])
    }

    @Test func `lifts the shadow when the file above it goes`() throws {
        let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", red, into: first)
        try BuiltPlugin.put("claims-formats", green, into: second)
        let host = testHost(first.path, second.path, follows: true)
        try #require(try color(host) == [255, 0, 0])

        try shell("rm", path)

        #expect(try color(host) == [0, 255, 0])
        #expect(host.plugins.map(\.status.state) == [.loaded])
    }

    @Test func `sees a file whose place becomes trusted`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", red, into: folder)
        try shell("chmod", "o+w", path)
        let host = testHost(folder.path, follows: true)
        try #require(host.plugins.map(\.status.state) == [.untrustedPath])

        try shell("chmod", "o-w", path)

        #expect(host.plugins.map(\.status.state) == [.ready])
    }

    @Test(arguments: ["plugins", "share/coderhost/plugins/1"]) func `follows a folder that does not exist yet`(
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

    @Test func `follows a folder that goes and comes back`() throws {
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

    @Test func `wakes who waits for a change`() async throws {
        let folder = TemporaryDirectory()
        let host = testHost(folder.path, follows: true)
        try #require(host.plugins.isEmpty)
        try #require(!host.waitForChange(milliseconds: 0))
        let bytes = try BuiltPlugin.bytes("claims-formats", red)

        async let woken = Task.detached { host.waitForChange(milliseconds: 60_000) }.value
        folder.write(bytes, to: "libcoder-a.so")

        #expect(await woken)
        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(!host.waitForChange(milliseconds: 0), "the change was taken note of")
    }

    @Test func `is read whole by many threads while it changes`() async throws {
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
