import Glibc
import TestSupport
import Testing

@testable import CoderHost

/// Policy, place, signature and trusted files in every combination.
@Suite(.timeLimit(.minutes(40))) struct `The policy of trust` {
    struct Case: Sendable, CustomTestStringConvertible {
        var policy: TrustPolicy
        var isPlaced: Bool
        var isVouched = false
        var isSigned = false
        var state: PluginStatus.State
        var tier: PluginRecord.Tier?
        var testDescription: String {
            "\(policy)\(isPlaced ? ", placed" : "")\(isVouched ? ", vouched" : "")\(isSigned ? ", signed" : ""): \(state.word)"
        }
    }

    /// A plugin in its own folder belongs to the user; root's to the system.
    private static let own: PluginRecord.Tier = geteuid() == 0 ? .system : .user

    static let cases = [
        Case(policy: .any, isPlaced: false, state: .ready, tier: .foreign),
        Case(policy: .any, isPlaced: true, state: .ready, tier: own),
        Case(policy: .any, isPlaced: false, isSigned: true, state: .ready, tier: .signed),
        Case(policy: .owned, isPlaced: false, state: .untrustedPath),
        Case(policy: .owned, isPlaced: true, state: .ready, tier: own),
        Case(policy: .owned, isPlaced: false, isVouched: true, state: .ready, tier: .user),
        Case(policy: .owned, isPlaced: false, isSigned: true, state: .ready, tier: .signed),
        Case(policy: .owned, isPlaced: true, isSigned: true, state: .ready, tier: max(own, .signed)),
        Case(policy: .signed, isPlaced: false, state: .unsigned),
        Case(policy: .signed, isPlaced: true, state: .unsigned),
        Case(policy: .signed, isPlaced: true, isVouched: true, state: .unsigned),
        Case(policy: .signed, isPlaced: false, isSigned: true, state: .ready, tier: .signed),
        Case(policy: .signed, isPlaced: true, isSigned: true, state: .ready, tier: max(own, .signed)),
    ]

    @Test(arguments: cases) func `decides`(about: Case) throws {
        let (folder, trust) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let hash = try contentHash(of: path)
        if about.isVouched {
            _ = try TrustStore(folders: [trust.path]).vouch(for: hash, plugin: "org.example.bad-plugin", path: path)
        }
        if about.isSigned {
            let key = try #require(SigningKey())
            trust.write(try #require(key.publicKey(expires: nil, name: "")).file, to: "k.pub")
            folder.write(
                try #require(key.signature(ofPlugin: "org.example.bad-plugin", hash)),
                to: "libcoder-claims-formats.so.sig")
        }
        if !about.isPlaced { try shell("chmod", "0777", folder.path) }
        let host = testHost(folder.path, policy: about.policy, trust: [trust.path])

        let plugin = try #require(host.plugins.first)

        #expect(plugin.status.state == about.state, "\(plugin.status)")
        if let tier = about.tier { #expect(plugin.tier == tier) }
        #expect(plugin.status.isUsable == plugin.status.reason.isEmpty)
        #expect(plugin.status.isUsable == plugin.status.remedy.isEmpty)
        if plugin.status.isUsable { #expect(try host.manager.decode(badImage).coder == "org.example.bad") }
    }

    @Test(.enabled(if: geteuid() == 0, "only root's own installation counts"))
    func `trusts plugins installed with the program`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)
        func states(_ origins: PluginDirectory.Origin...) -> [PluginStatus.State] {
            CoderHost(
                configuration: HostConfiguration(
                    directories: origins.map { .init(folder.path, origin: $0) }, administrationDirectories: [],
                    trustPolicy: .signed, trustDirectories: [], stateDirectory: nil)
            ).plugins.map(\.status.state)
        }

        #expect(states(.relative) == [.ready])
        #expect(states(.argument, .relative) == [.ready], "it is the same folder, however it is named")
        #expect(states(.argument) == [.unsigned])
        #expect(states(.user) == [.unsigned])
        try shell("chown", "-R", "12345", folder.path)
        #expect(states(.relative) == [.unsigned])
    }

    @Test func `does not trust the neighbors of a trusted file`() throws {
        let (folder, trust) = (TemporaryDirectory(), TemporaryDirectory())
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-Wl,-soname,libcoderhost-neighbor.so.2"], into: folder.path,
            named: "libcoderhost-neighbor.so.2")
        let path = try PluginBuilder.build(
            "bad/missing-library.c",
            flags: ["-Wl,--no-as-needed", folder.file("libcoderhost-neighbor.so.2"), "-Wl,-rpath,$ORIGIN"],
            into: folder.path)
        let hash = try contentHash(of: path)
        _ = try TrustStore(folders: [trust.path]).vouch(for: hash, plugin: "org.example.bad-plugin", path: path)
        try shell("chmod", "0777", folder.path)

        #expect(testHost(folder.path, trust: [trust.path]).plugins.map(\.status.state) == [.untrustedPath])
    }

    @Test func `has one order`() {
        let tiers: [CoderDescriptor.Tier] = [.foreign, .user, .signed, .system, .builtIn, .runTime]
        #expect(tiers == tiers.sorted())
        #expect(Set(tiers.map(\.word)).count == tiers.count)
        #expect(TrustPolicy.allCases == TrustPolicy.allCases.sorted())
    }

    // MARK: The store

    @Test(arguments: ["folder", "file", "key"]) func `trusts no store that others can write`(what: String) throws {
        let (folder, trust) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        try shell("chmod", "o+w", path)
        let hash = try contentHash(of: path)
        let entry = try TrustStore(folders: [trust.path]).vouch(for: hash, plugin: "x", path: path)
        let key = trust.write(try #require(SigningKey()?.publicKey(expires: nil, name: "")).file, to: "k.pub")
        try #require(testHost(folder.path, trust: [trust.path]).plugins.map(\.status.state) == [.ready])
        let doubtful = what == "folder" ? trust.path : what == "file" ? entry : key
        try shell("chmod", "o+w", doubtful)
        let host = testHost(folder.path, trust: [trust.path])
        let store = TrustStore(folders: [trust.path])

        #expect(host.plugins.map(\.status.state) == [what == "key" ? .ready : .untrustedPath])
        #expect(store.keys.isEmpty == (what != "file"))
        _ = store.entries
        #expect(
            store.warnings.contains {
                $0.contains("\(doubtful): any user can write to it") && $0.contains("chmod go-w")
            })
    }

    @Test(arguments: ["", "text\n", "coderhost-trust 1\n", "FIFO"]) func `ignores a broken entry`(
        text: String
    ) throws {
        let (folder, trust) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        try shell("chmod", "o+w", path)
        let hash = SHA256.hexDigest(of: try #require(readFile(path)))
        if text == "FIFO" {
            try shell("mkfifo", trust.file("\(hash).trust"))
        } else {
            trust.write(Array(text.utf8), to: "\(hash).trust")
        }

        #expect(testHost(folder.path, trust: [trust.path]).plugins.map(\.status.state) == [.untrustedPath])
    }

    @Test func `uses an entry only for the hash in its name`() throws {
        let trust = TemporaryDirectory()
        let hashes = try (0...1).map { try #require(ContentHash([UInt8](repeating: UInt8($0), count: 32))) }
        let store = TrustStore(folders: [trust.path])
        let path = try store.vouch(for: hashes[0], plugin: "org.example.x", path: "/a\nsha256 b/libcoder-x.so")
        try shell("cp", path, trust.file("\(hashes[1]).trust"))

        let fresh = TrustStore(folders: [trust.path])
        #expect(fresh.entry(for: hashes[0])?.path == "/a?sha256 b/libcoder-x.so")
        #expect(fresh.entry(for: hashes[1]) == nil)
        #expect(fresh.entries.map(\.hash) == [hashes[0]])
        try fresh.remove(path)
        #expect(fresh.entry(for: hashes[0]) == nil)
    }

    @Test func `keeps earlier revocations`() throws {
        let trust = TemporaryDirectory()
        trust.write(Array("# mine\n0123456789abcdef".utf8), to: "revoked")
        let store = TrustStore(folders: [trust.path])

        let path = try store.revoke("fedcba9876543210")

        #expect(readFile(path) == Array("# mine\n0123456789abcdef\nfedcba9876543210\n".utf8))
        #expect(store.isRevoked("0123456789abcdef") && store.isRevoked("fedcba9876543210"))
    }

    @Test func `creates private folders and files`() throws {
        let place = TemporaryDirectory()
        let store = TrustStore(folders: [place.file("a/b/trust.d")])
        let path = try store.vouch(
            for: try #require(ContentHash([UInt8](repeating: 7, count: 32))), plugin: "x", path: "/x")

        #expect(FileStatus.of(path)?.mode == S_IFREG | 0o600)
        #expect(FileStatus.of(place.file("a/b"))?.mode == S_IFDIR | 0o700)
        #expect(try directoryEntries(place.file("a/b/trust.d")).count == 1)
    }
}
