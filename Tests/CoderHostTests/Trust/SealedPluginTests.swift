import Glibc
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// What is loaded is what was judged.
@Suite(.timeLimit(.minutes(40))) struct `A sealed plugin` {
    private func record(_ folder: TemporaryDirectory, policy: TrustPolicy = .owned, trust: [String] = []) throws
        -> PluginRecord
    {
        try #require(testHost(folder.path, policy: policy, trust: trust).plugins.first)
    }

    private func bytes(_ sealed: SealedPlugin) throws -> [UInt8] { try sealed.file.bytes(at: 0, count: 1 << 24) }

    @Test func `has the bytes of the file, and their hash`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let content = try #require(readFile(path))

        let sealed = try SealedPlugin(try record(folder))

        #expect(try bytes(sealed) == content)
        #expect(sealed.weakness == nil)
        #expect(try "\(sealed.hash())  \(path)\n" == run(["sha256sum", path]).stdout)
        #expect(sealed.path == "/proc/self/fd/\(sealed.file.descriptor)")
        try sealed.confirm()
    }

    @Test func `can be changed by nobody`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)

        let sealed = try SealedPlugin(try record(folder))

        #expect([UInt8(1)].withSpan { sealed.file.write($0, at: 0) }?.code == EPERM)
        #expect(ftruncate(sealed.file.descriptor, 0) == -1)
        #expect(fcntl(sealed.file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    enum Change: String, CaseIterable { case rename, inPlace, shorter, remove, link }

    private func apply(_ change: Change, _ folder: TemporaryDirectory, _ path: String, _ other: [UInt8]) {
        switch change {
        case .rename: _ = unsafe rename(folder.write(other, to: "new"), path)
        case .inPlace: _ = writeFile(path, other)
        case .shorter: _ = unsafe truncate(path, 5000)
        case .remove: _ = unsafe unlink(path)
        case .link: _ = unsafe (unlink(path), symlink(folder.write(other, to: "new"), path))
        }
    }

    @Test(arguments: Change.allCases) func `is refused when the file changed since it was judged`(change: Change) throws
    {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let record = try record(folder)
        apply(change, folder, path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"]))

        let refusal = #expect(throws: PluginRefusal.self) { try SealedPlugin(record) }

        #expect(refusal?.isStale == true)
        #expect(refusal?.status.reason == "it changed since it was examined")
    }

    @Test(arguments: Change.allCases, [true, false])
    func `has the old bytes or none when the file changes meanwhile`(change: Change, sealing: Bool) throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let content = try #require(readFile(path))
        let record = try record(folder)
        let other = try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])

        let outcome = Result { () throws(PluginRefusal) in
            try SealedPlugin(record, sealing: sealing) { apply(change, folder, path, other) }
        }

        switch outcome {
        case .success(let sealed): #expect(try bytes(sealed) == content)
        case .failure(let refusal): #expect(refusal.isStale)
        }
        // A file that was written to is neither.
        if change == .inPlace || change == .shorter { #expect(throws: PluginRefusal.self) { try outcome.get() } }
    }

    @Test func `has one version whole, however often the file is replaced`() async throws {
        let folder = TemporaryDirectory()
        let versions = try (1...2).map { try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=\($0)"]) }
        let hashes = versions.map { SHA256.hexDigest(of: $0) }
        folder.write(versions[0], to: "libcoder-a.so")

        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<400 {
                    if round % 2 == 0 {
                        _ = writeFile(folder.file("libcoder-a.so"), versions[round / 2 % 2])
                    } else {
                        _ = unsafe rename(
                            folder.write(versions[round / 2 % 2], to: "new"), folder.file("libcoder-a.so"))
                    }
                }
            }
            for _ in 0..<400 {
                guard let record = testHost(folder.path).plugins.first, record.status.isUsable else { continue }
                do throws(PluginRefusal) {
                    let sealed = try SealedPlugin(record)
                    #expect(hashes.contains("\(try sealed.hash())"))
                } catch {
                    #expect(error.isStale, "\(error.status)")
                }
            }
        }
    }

    @Test func `is judged by its content where that was vouched for`() throws {
        let (folder, trust) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        try shell("chmod", "o+w", path)
        let hash = try contentHash(of: path)
        _ = try TrustStore(folders: [trust.path]).vouch(for: hash, plugin: "org.example.bad-plugin", path: path)
        var record = try record(folder, trust: [trust.path])
        try #require(record.status.state == .ready && record.grounds == .content(hash))

        #expect(try SealedPlugin(record).hash() == hash)

        // As if the file had been exchanged within one tick of its clock.
        record.grounds = .content(try #require(ContentHash([UInt8](repeating: 1, count: 32))))
        #expect(throws: PluginRefusal.changed) { try SealedPlugin(record) }
        record.grounds = .none
        #expect(throws: PluginRefusal.changed) { try SealedPlugin(record) }
        record.grounds = .content(hash)
        record.manifestText = []
        #expect(throws: PluginRefusal.changed) { try SealedPlugin(record) }
    }

    @Test func `is the file itself where this system makes no copy, and it says so`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)

        let sealed = try SealedPlugin(try record(folder), sealing: false) {}

        #expect(sealed.weakness?.contains("no sealed copy") == true)
        #expect(sealed.path == "/proc/self/fd/\(sealed.file.descriptor)")
        try sealed.confirm()
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])))
        #expect(throws: PluginRefusal.changed) { try sealed.confirm() }
    }

    @Test func `stays where it finds its libraries`() throws {
        let folder = TemporaryDirectory()
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-Wl,-soname,libcoderhost-neighbour.so.1", "-fvisibility=default"],
            into: folder.path,
            named: "libcoderhost-neighbour.so.1")
        let path = try PluginBuilder.build(
            "bad/missing-library.c",
            flags: ["-Wl,--no-as-needed", folder.file("libcoderhost-neighbour.so.1"), "-Wl,-rpath,$ORIGIN"],
            into: folder.path)
        let host = testHost(folder.path)
        let record = try #require(host.plugins.first)
        try #require(record.status.state == .ready)

        let sealed = try SealedPlugin(record)

        #expect(sealed.path == path)
        #expect(sealed.weakness == "it finds libraries from its own place")
        #expect(try host.manager.decode(badPicture).coder == "org.example.bad")
        #expect(host.plugins.first?.status.state == .loaded)
        #expect(host.plugins.first?.status.reason.contains("its own place") == true)
    }

    @Test func `that was replaced by another build is judged anew and used`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", ["-DCOLOR=0xff0000"], into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])))

        #expect(try host.manager.decode(badPicture).pixels.packed.starts(with: [0, 255, 0]))
    }

    @Test func `that was replaced by what nobody trusts is not used`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])))
        try shell("chmod", "o+w", path)

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badPicture) }

        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("untrusted-path") == true)
    }

    @Test func `that was replaced by another plugin is not used under the old one's name`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DNAME=other"])))

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badPicture) }

        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("it changed since it was examined") == true)
    }
}
