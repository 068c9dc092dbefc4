import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `Coder ranking` {
    /// A coder with all ranking criteria.
    struct Entry: Sendable {
        var id: String
        var plugin: String?
        var tier = CoderDescriptor.Tier.user
        var priority = 100
        var administered: Int?
        var score: Int? = 24
        var version = "1.0.0"
        var position = -1

        var ranked: RankedCoder {
            let descriptor = CoderDescriptor(
                id: id, plugin: plugin, version: version, tier: tier, roles: .decode, formats: [], priority: priority,
                administeredPriority: administered)
            return RankedCoder(coder: Coder(descriptor: descriptor), format: "x", score: score, position: position)
        }
    }

    private struct Coder: ImageCoder {
        var descriptor: CoderDescriptor
        func makeDecoder(_: ImageSource, _: SessionContext) throws(CoderError) -> any FrameDecoder { throw .notMine() }
        func makeEncoder(_: SessionContext) throws(CoderError) -> any FrameEncoder { throw .notMine() }
    }

    /// Each entry precedes all later ones, for one reason at a time.
    static let order: [Entry] = [
        Entry(id: "added last", tier: .runTime, priority: 1, score: nil, version: "0", position: 2),
        Entry(id: "added second", tier: .runTime, priority: 900, administered: 900, score: 900, position: 1),
        Entry(id: "added first", tier: .runTime, position: 0),
        Entry(id: "administered 200", priority: 1, administered: 200, score: nil),
        Entry(id: "administered 101", priority: 1, administered: 101, score: 1),
        Entry(id: "built in", tier: .builtIn, priority: 1, score: 1),
        Entry(id: "system", tier: .system, priority: 1, score: 1),
        Entry(id: "user, priority 300", priority: 300, score: 8),
        Entry(id: "user, priority 101", priority: 101, score: 8),
        Entry(id: "better score", score: 10_008),
        Entry(id: "newer", version: "1.10.0"),
        Entry(id: "older", version: "1.9.9"),
        Entry(id: "a", version: "1.9"),
        Entry(id: "b", administered: 100, version: "1.9"),
        Entry(id: "c", plugin: "p", version: "1.9"),
        Entry(id: "c", plugin: "q", version: "1.9.0"),
        Entry(id: "B", version: "1.8"),
        Entry(id: "b", version: "1.8"),
        Entry(id: "bb", version: "1.8"),
        Entry(id: "é", version: "1.8"),
        Entry(id: "priority 1", priority: 1),
        Entry(id: "name only", tier: .builtIn, priority: 900, score: nil),
        Entry(id: "name only, user", priority: 900, score: nil),
        Entry(id: "administered 99", tier: .builtIn, priority: 900, administered: 99, score: 900),
    ]

    @Test func `is a total order`() {
        let ranked = Self.order.map(\.ranked)
        for (i, a) in ranked.enumerated() {
            for (j, b) in ranked.enumerated() {
                #expect(CoderRanking.precedes(a, b) == (i < j), "\(a.descriptor.id) and \(b.descriptor.id)")
            }
        }
    }

    @Test(arguments: 0..<50) func `does not depend on the order of the folders`(seed: UInt64) {
        var random = SeededRandom(seed)
        let shuffled = Self.order.map(\.ranked).shuffled(using: &random).sorted(by: CoderRanking.precedes)

        #expect(shuffled.map(\.descriptor.id) == Self.order.map(\.id))
    }

    @Test(arguments: [
        ("1.0", "1.0.0", 0), ("1.9", "1.10", -1), ("2", "1.99.99", 1), ("1.2.3", "1.2.4", -1), ("v1.2", "1.2", 0),
        ("", "0", 0), ("1.0.1", "1", 1), ("99999999999999999999", "1", -1),
    ]) func `compares versions number by number`(a: String, b: String, order: Int) {
        #expect(CoderRanking.compareVersions(a, b) == order)
        #expect(CoderRanking.compareVersions(b, a) == -order)
    }

    // MARK: With plugins

    /// Two plugins for "BAD!" in a folder.
    private func twoPlugins(_ first: [String], _ second: [String]) throws -> TemporaryDirectory {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", ["-DNAME=first"] + first, into: folder, as: "libcoder-1.so")
        try BuiltPlugin.put("claims-formats", ["-DNAME=second"] + second, into: folder, as: "libcoder-2.so")
        return folder
    }

    @Test(
        arguments: [
            ([], [], "org.example.first"), (["-DPRIORITY=99"], [], "org.example.second"),
            ([], ["-DPRIORITY=101"], "org.example.second"),
            (["-DPRIORITY=1000"], ["-DPRIORITY=999"], "org.example.first"),
            (["-DPRIORITY=0"], ["-DPRIORITY=1"], "org.example.second"),
            ([], ["-DSIGNATURE=4241442100"], "org.example.first"), (["-DSIGNATURE=424144"], [], "org.example.second"),
        ] as [([String], [String], String)])
    func `chooses between two plugins`(first: [String], second: [String], winner: String) throws {
        let folder = try twoPlugins(first, second)
        let host = testHost(folder.path)

        #expect(try host.manager.decode(badImage).coder == winner)
    }

    @Test func `obeys the administrator, and explains it`() throws {
        let folder = try twoPlugins(["-DPRIORITY=900"], [])
        folder.write(Array("priority = 101 # better\n".utf8), to: "org.example.second-plugin.conf")
        let host = testHost(folder.path, administration: [folder.path])

        let order = host.manager.candidates(for: badImage)

        #expect(order.map(\.descriptor.id) == ["org.example.second", "org.example.first"])
        #expect(order[0].explanation.hasPrefix("administered priority 101, "))
        #expect(order[0].explanation.hasSuffix("tier, priority 100, score 32, version 1.0.0"))
        #expect(!order[1].explanation.contains("administered"))
        #expect(order[1].explanation.contains("priority 900"))
    }

    @Test func `ranks later added coders before earlier ones, and both before plugins`() throws {
        let folder = try twoPlugins(["-DPRIORITY=900"], [])
        folder.write(Array("priority = 1000\n".utf8), to: "org.example.first-plugin.conf")
        let manager = testHost(folder.path, administration: [folder.path]).manager

        manager.addCoder(ScriptedCoder("early", priority: 500))
        manager.addCoder(ScriptedCoder("late", priority: 1))

        let order = manager.candidates(for: badImage)
        #expect(order.map(\.descriptor.id) == ["late", "early", "org.example.first", "org.example.second"])
        #expect(order[0].explanation.hasPrefix("added at run time, position 1, run-time tier"))
        #expect(manager.coders.last?.descriptor.id == "late")
        manager.removeCoder("late")
        #expect(manager.candidates(for: badImage).first?.descriptor.id == "early")
        manager.removeCoder("early")
        manager.removeCoder("org.example.first")
        #expect(
            manager.candidates(for: badImage).map(\.descriptor.id) == ["org.example.first", "org.example.second"])
    }

    @Test func `asks only the forced coder`() throws {
        let folder = try twoPlugins([], [])
        let manager = testHost(folder.path).manager
        func used(_ id: String) throws -> String {
            try manager.withSession(badImage, forcing: id) { session throws(CoderError) in session.coder.id }
        }

        #expect(try used("org.example.second") == "org.example.second")
        let error = #expect(throws: CoderError.self) { try used("org.example.third") }
        #expect(error?.code == .noCoder)
        #expect(error?.message.contains("org.example.third") == true)
    }
}
