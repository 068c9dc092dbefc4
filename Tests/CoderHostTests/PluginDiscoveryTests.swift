import CoderHost
import Glibc
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Plugin discovery` {
    struct Sample: Sendable, CustomTestStringConvertible {
        var source = "claims-formats"
        var flags: [String] = []
        var state: PluginStatus.State
        var reason = ""
        var remedy = ""

        var testDescription: String { ([source] + flags).joined(separator: " ") + ": \(state.word)" }
    }

    static let listed = [
        Sample(state: .ready),
        Sample(source: "constructor-aborts", state: .ready),
        Sample(
            flags: ["-DABI_MAJOR=0"], state: .abiTooOld, reason: "built for interface 0", remedy: "update the plugin"),
        Sample(source: "needs-newer", state: .abiTooNew, reason: "needs interface 1.99", remedy: "update coderhost"),
        Sample(source: "major-2", state: .abiTooNew, reason: "needs interface 2.0", remedy: "update coderhost"),
        Sample(source: "no-note", state: .noManifest, reason: "no manifest note", remedy: "CPI_MANIFEST"),
        Sample(source: "not-json", state: .badManifest, reason: "at byte 33", remedy: "rebuild"),
        Sample(source: "two-notes", state: .badManifest, reason: "2 manifest notes", remedy: "keep one"),
        Sample(source: "oversized", state: .badManifest, reason: "64 KiB", remedy: "shorten"),
        Sample(
            flags: ["-Dcpi_entry_1=entry_by_another_name"], state: .notAPlugin, reason: "does not export cpi_entry_1",
            remedy: "nm -D"),
    ]

    @Test(arguments: listed) func `reports without running the file`(sample: Sample) throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put(sample.source, sample.flags, into: folder)

        let plugin = try #require(testHost(folder.path).plugins.first)

        #expect(plugin.path == path)
        #expect(plugin.status.state == sample.state)
        #expect(plugin.status.reason.contains(sample.reason) || sample.reason.isEmpty, "\(plugin.status.reason)")
        #expect(plugin.status.remedy.contains(sample.remedy) || sample.remedy.isEmpty, "\(plugin.status.remedy)")
        #expect(plugin.status.isUsable == plugin.status.reason.isEmpty)
        #expect(plugin.status.isUsable == plugin.status.remedy.isEmpty)
    }

    static let mismatches = [
        Sample(
            source: "manifest-mismatch", flags: ["-DMISMATCH=1"], state: .manifestMismatch, reason: "org.example.bad"),
        Sample(
            source: "manifest-mismatch", flags: ["-DMISMATCH=2"], state: .manifestMismatch, reason: "roles decode, its"),
        Sample(source: "manifest-mismatch", flags: ["-DMISMATCH=3"], state: .manifestMismatch, reason: "9.9.9"),
        Sample(
            source: "manifest-mismatch", flags: ["-DMISMATCH=4"], state: .manifestMismatch,
            reason: "1 coders, its manifest declares 2"),
        Sample(source: "same-pointer", state: .manifestMismatch, reason: "extension that does not exist"),
        Sample(source: "bad-table-size", flags: ["-DTABLE=1"], state: .manifestMismatch, reason: "table"),
        Sample(source: "bad-table-size", flags: ["-DTABLE=2"], state: .manifestMismatch, reason: "incomplete"),
        Sample(source: "bad-table-size", flags: ["-DTABLE=3"], state: .manifestMismatch, reason: "too short"),
        Sample(source: "bad-table-size", flags: ["-DTABLE=4"], state: .manifestMismatch, reason: "table"),
        Sample(source: "null-entry", state: .initFailed, reason: "this machine has no lightning"),
        Sample(source: "init-fails", state: .initFailed, reason: "the tables could not be built"),
    ]

    @Test(arguments: mismatches) func `reports at the first session`(sample: Sample) throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put(sample.source, sample.flags, into: folder)
        let host = testHost(folder.path)
        try #require(host.plugins.map(\.status.state) == [.ready])

        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        let status = try #require(host.plugins.first).status
        #expect(status.state == sample.state)
        #expect(status.reason.contains(sample.reason), "\(status.reason)")
        #expect(!status.remedy.isEmpty)
        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains(sample.state.word) == true)
        #expect(!host.manager.canDecode(badImage), "a refused plugin is not asked again")
        let again = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }
        #expect(again?.code == .noCoder)
        #expect(again?.attempts.first?.contains(sample.state.word) == true)
    }

    @Test func `reports a plugin as loaded after it has decoded`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path)

        let image = try host.manager.decode(badImage)

        #expect(
            image.pixels.packed == [UInt8](repeating: 0, count: 12).enumerated().map { $0.offset % 3 == 0 ? 255 : 0 })
        #expect(host.plugins.map(\.status) == [PluginStatus(.loaded)])
    }

    @Test func `loads no plugin when it lists and sniffs`() throws {
        let folder = TemporaryDirectory()
        let name = "libcoder-never-mapped-\(getpid()).so"
        try BuiltPlugin.put("constructor-aborts", into: folder, as: name)
        let host = testHost(folder.path)

        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(host.manager.candidates(for: badImage).map(\.descriptor.id) == ["org.example.bad"])
        #expect(host.manager.coders.contains { $0.descriptor.id == "org.example.bad" })
        #expect(host.manager.encoders(for: "bad").isEmpty)

        let maps = String(decoding: readFile("/proc/self/maps") ?? [], as: UTF8.self)
        #expect(maps.contains("[stack]"))
        #expect(!maps.contains("never-mapped"))
    }

    // MARK: Files that are not plugins

    @Test(arguments: [
        ("text", "it is not a shared object"), ("empty", "it is not a shared object"), ("fifo", "not a regular file"),
        ("folder", "not a regular file"), ("dangling", "cannot be read"),
    ]) func `ignores`(kind: String, reason: String) throws {
        let folder = TemporaryDirectory()
        let path = folder.file("libcoder-x.so")
        switch kind {
        case "text": folder.write(Array("#!/bin/sh\n".utf8), to: "libcoder-x.so")
        case "empty": folder.write([], to: "libcoder-x.so")
        case "fifo": try shell("mkfifo", path)
        case "folder": folder.folder("libcoder-x.so")
        default: try shell("ln", "-s", folder.file("nothing"), path)
        }
        try BuiltPlugin.put("claims-formats", into: folder, as: "libcoder-y.so")

        let plugins = testHost(folder.path).plugins

        #expect(plugins.map(\.status.state) == [.notAPlugin, .ready])
        #expect(plugins[0].status.reason.contains(reason))
        #expect(!plugins[0].status.remedy.isEmpty)
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func `reports a file without read permission`() throws {
        let folder = TemporaryDirectory()
        try shell("chmod", "000", try BuiltPlugin.put("claims-formats", into: folder))

        let status = try #require(testHost(folder.path).plugins.first).status

        #expect(status.state == .notAPlugin)
        #expect(status.reason.contains("Permission denied"))
        #expect(status.remedy.contains("chmod"))
    }

    @Test func `examines only files with plugin names`() throws {
        let folder = TemporaryDirectory()
        for name in ["libother.so", "libcoder-a.so.1", "coder-a.so", "libcoder-a.txt", ".libcoder-a.so"] {
            try BuiltPlugin.put("claims-formats", into: folder, as: name)
        }

        #expect(testHost(folder.path).plugins.isEmpty)
    }

    @Test(
        arguments: [(4, 1, "a 32-bit machine"), (5, 2, "the other byte order"), (18, 8, "MIPS"), (18, 3, "x86")]
            as [(Int, UInt8, String)])
    func `names the machine of a file`(offset: Int, byte: UInt8, name: String) throws {
        let folder = TemporaryDirectory()
        var bytes = try BuiltPlugin.bytes("claims-formats")
        bytes[offset] = byte
        folder.write(bytes, to: "libcoder-x.so")

        let status = try #require(testHost(folder.path).plugins.first).status

        #expect(status.state == .wrongArchitecture)
        #expect(status.reason.contains("built for \(name)"))
        #expect(status.remedy.hasPrefix("install the build for"))
    }

    /// The loader maps every PT_LOAD segment; a segment beyond the end of the file would kill the process later.
    @Test func `never accepts a file with truncated segments`() throws {
        let folder = TemporaryDirectory()
        let bytes = try BuiltPlugin.bytes("claims-formats")
        let needed = endOfSegments(bytes)
        try #require(needed > 4096 && needed < bytes.count)

        for count in Array(stride(from: 0, to: bytes.count, by: 131)) + [1, 4, 63, 64, 65, needed - 1, needed] {
            folder.write(Array(bytes[..<count]), to: "libcoder-cut.so")
            let status = try #require(testHost(folder.path).plugins.first).status
            #expect(status.isUsable == (count >= needed), "\(count) of \(bytes.count) bytes: \(status)")
            #expect(status.isUsable || status.state == .notAPlugin)
        }
    }

    /// - Source: System V ABI, program header: type 0, offset 8, file size 32.
    private func endOfSegments(_ elf: [UInt8]) -> Int {
        func number(_ at: Int, _ count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(elf[at + $1]) << (8 * $1) } }
        let first = number(32, 8)
        return (0..<number(56, 2)).map { first + $0 * 56 }.filter { number($0, 4) == 1 }
            .map { number($0 + 8, 8) + number($0 + 32, 8) }.max() ?? 0
    }

    // MARK: Duplicates

    @Test func `uses the plugin in the first folder if two have the same id`() throws {
        let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
        let used = try BuiltPlugin.put("claims-formats", ["-DCOLOR=0x0000ff"], into: first, as: "libcoder-z.so")
        try BuiltPlugin.put("claims-formats", into: second, as: "libcoder-a.so")
        let host = testHost(first.path, second.path)

        #expect(host.plugins.map(\.status.state) == [.ready, .shadowed])
        #expect(host.plugins[1].status.reason == "by \(used)")
        #expect(host.plugins[1].status.remedy == "remove one of the two")
        #expect(try host.manager.decode(badImage).pixels.packed.starts(with: [0, 0, 255]))
    }

    @Test func `does not shadow a plugin by an unusable one`() throws {
        let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
        try BuiltPlugin.put("needs-newer", into: first)
        try BuiltPlugin.put("claims-formats", into: second)

        #expect(testHost(first.path, second.path).plugins.map(\.status.state) == [.abiTooNew, .ready])
    }

    @Test(arguments: ["same", "slash", "link", "dots"]) func `lists a folder with two names once`(kind: String) throws {
        let folder = TemporaryDirectory()
        let plugins = folder.folder("plugins")
        folder.write(try BuiltPlugin.bytes("claims-formats"), to: "plugins/libcoder-a.so")
        try shell("ln", "-s", plugins, folder.file("link"))
        let other =
            switch kind {
            case "same": plugins
            case "slash": plugins + "/"
            case "link": folder.file("link")
            default: "\(folder.path)/./plugins/../plugins"
            }

        #expect(testHost(plugins, other).plugins.map(\.status.state) == [.ready])
    }

    @Test(arguments: [["ln"], ["ln", "-s"]]) func `lists a file with two names once`(command: [String]) throws {
        let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: first)
        _ = try run(command + [path, second.file("libcoder-other.so")])

        #expect(testHost(first.path, second.path).plugins.map(\.path) == [path])
    }

    // MARK: Administration

    @Test(arguments: [
        "enabled = no", "enabled=FALSE # for now", "# why\npriority = 7\n enabled\t=\toff\n", "enabled=0",
    ])
    func `skips plugins that an administrator disabled`(text: String) throws {
        let (folder, administration) = (TemporaryDirectory(), TemporaryDirectory())
        try BuiltPlugin.put("claims-formats", into: folder)
        let file = administration.write(Array(text.utf8), to: "org.example.bad-plugin.conf")
        let host = testHost(folder.path, administration: [administration.path])

        let status = try #require(host.plugins.first).status
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        #expect(
            status
                == PluginStatus(
                    .disabled, reason: "by \(file)", remedy: "coderhost plugin enable org.example.bad-plugin"))
        #expect(error?.code == .noCoder)
        #expect(error?.attempts.first?.contains("disabled") == true)
    }

    @Test func `uses the first administration folder`() throws {
        let (folder, user, system) = (TemporaryDirectory(), TemporaryDirectory(), TemporaryDirectory())
        try BuiltPlugin.put("claims-formats", into: folder)
        user.write(Array("enabled = yes\n".utf8), to: "org.example.bad-plugin.conf")
        system.write(Array("enabled = no\n".utf8), to: "org.example.bad-plugin.conf")

        #expect(testHost(folder.path, administration: [user.path, system.path]).plugins[0].status.state == .ready)
        #expect(testHost(folder.path, administration: [system.path, user.path]).plugins[0].status.state == .disabled)
    }

    @Test func `disables every plugin with the disabled id`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", ["-DNAME=first"], into: folder, as: "libcoder-a.so")
        try BuiltPlugin.put("claims-formats", ["-DNAME=second"], into: folder, as: "libcoder-b.so")
        folder.write(Array("enabled = no".utf8), to: "org.example.first-plugin.conf")
        let host = testHost(folder.path, administration: [folder.path])

        #expect(host.plugins.map(\.status.state) == [.disabled, .ready])
        #expect(try host.manager.decode(badImage).coder == "org.example.second")
    }
}
