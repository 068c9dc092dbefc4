@testable import CoderHost
import Glibc
import ImageModel
import ImageProcessing
@testable import PluginRuntime
import TestSupport
import Testing

/// The loaded bytes are the checked bytes.
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

    @Test func `cannot be changed`() throws {
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

    @Test(arguments: Change.allCases) func `is refused if the file changed after the check`(change: Change) throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let record = try record(folder)
        apply(change, folder, path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"]))

        let refusal = #expect(throws: PluginRefusal.self) { try SealedPlugin(record) }

        #expect(refusal?.isStale == true)
        #expect(refusal?.status.reason == "it changed after the check")
    }

    @Test(arguments: Change.allCases, [true, false])
    func `has the old bytes or none if the file changes meanwhile`(change: Change, sealing: Bool) throws {
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
        // A file that was written to is refused.
        if change == .inPlace || change == .shorter { #expect(throws: PluginRefusal.self) { try outcome.get() } }
    }

    @Test func `has one complete version, however often the file is replaced`() async throws {
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
            var usable = 0
            for _ in 0..<400 {
                guard let record = testHost(folder.path).plugins.first, record.status.isUsable else { continue }
                usable += 1
                do throws(PluginRefusal) {
                    let sealed = try SealedPlugin(record)
                    #expect(hashes.contains("\(try sealed.hash())"))
                } catch {
                    #expect(error.isStale, "\(error.status)")
                }
            }
            #expect(usable > 0)
        }
    }

    @Test func `is checked by its content if that is trusted`() throws {
        let (folder, trust) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        try shell("chmod", "o+w", path)
        let hash = try contentHash(of: path)
        _ = try TrustStore(folders: [trust.path]).vouch(for: hash, plugin: "org.example.bad-plugin", path: path)
        var record = try record(folder, trust: [trust.path])
        try #require(record.status.state == .ready && record.examination.grounds == .content(hash))

        #expect(try SealedPlugin(record).hash() == hash)

        // As if the file had been replaced within one clock tick.
        record.examination.grounds = .content(try #require(ContentHash([UInt8](repeating: 1, count: 32))))
        #expect(throws: PluginRefusal.changed) { try SealedPlugin(record) }
        record.examination.grounds = .none
        #expect(throws: PluginRefusal.changed) { try SealedPlugin(record) }
        record.examination.grounds = .content(hash)
        record.examination.manifestText = []
        #expect(throws: PluginRefusal.changed) { try SealedPlugin(record) }
    }

    @Test func `is the file itself if the system cannot create a copy, with a reason`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)

        let sealed = try SealedPlugin(try record(folder), sealing: false) {}

        #expect(sealed.weakness?.contains("cannot create a sealed copy") == true)
        #expect(sealed.path == "/proc/self/fd/\(sealed.file.descriptor)")
        try sealed.confirm()
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])))
        #expect(throws: PluginRefusal.changed) { try sealed.confirm() }
    }

    @Test func `is loaded from its folder if its libraries are there`() throws {
        let folder = TemporaryDirectory()
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-Wl,-soname,libcoderhost-neighbor.so.1", "-fvisibility=default"],
            into: folder.path,
            named: "libcoderhost-neighbor.so.1")
        let path = try PluginBuilder.build(
            "bad/missing-library.c",
            flags: ["-Wl,--no-as-needed", folder.file("libcoderhost-neighbor.so.1"), "-Wl,-rpath,$ORIGIN"],
            into: folder.path)
        let host = testHost(folder.path)
        let record = try #require(host.plugins.first)
        try #require(record.status.state == .ready)

        let sealed = try SealedPlugin(record)

        #expect(sealed.path == path)
        #expect(sealed.weakness == "it loads libraries from its own folder")
        #expect(try host.manager.decode(badImage).coder == "org.example.bad")
        #expect(host.plugins.first?.status.state == .loaded)
        #expect(host.plugins.first?.status.reason.contains("its own folder") == true)
    }

    @Test func `that was replaced by another build is checked again and used`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", ["-DCOLOR=0xff0000"], into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])))

        #expect(try host.manager.decode(badImage).pixels.packed.starts(with: [0, 255, 0]))
    }

    @Test func `that was replaced by an untrusted file is not used`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DCOLOR=0x00ff00"])))
        try shell("chmod", "o+w", path)

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("untrusted-path") == true)
    }

    @Test func `that was replaced by another plugin is not used under the old name`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])
        try #require(writeFile(path, try BuiltPlugin.bytes("claims-formats", ["-DNAME=other"])))

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("it changed after the check") == true)
    }
}
