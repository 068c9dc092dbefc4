import Glibc
import ImageModel
import Synchronization
import TestSupport
import Testing

@testable import CoderHost

/// Folders with files that are not plugins, and folders that change during a scan.
@Suite(.timeLimit(.minutes(40))) struct `A folder of plugins` {
    // MARK: Links

    @Test func `has no plugins outside`() throws {
        let (folder, other) = (TemporaryDirectory(), TemporaryDirectory())
        let path = try BuiltPlugin.put("claims-formats", into: other)
        try shell("ln", "-s", path, folder.file("libcoder-a.so"))

        let status = try #require(testHost(folder.path).plugins.first).status

        #expect(status.state == .untrustedPath)
        #expect(
            status.reason == "\(folder.file("libcoder-a.so")): it is a link to a file outside its folder, \(path)")
        #expect(status.remedy.contains("coderhost plugin trust \(folder.file("libcoder-a.so"))"))
    }

    @Test(arguments: ["real", "./real", "../plugins/real", "second"]) func `may have links inside`(target: String)
        throws
    {
        let parent = TemporaryDirectory()
        parent.folder("plugins")
        parent.write(try BuiltPlugin.bytes("claims-formats"), to: "plugins/real")
        try shell("ln", "-s", "real", parent.file("plugins/second"))
        try shell("ln", "-s", target, parent.file("plugins/libcoder-a.so"))
        let host = testHost(parent.file("plugins"))

        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(try host.manager.decode(badImage).coder == "org.example.bad")
    }

    @Test func `may have an absolute link inside`() throws {
        let folder = TemporaryDirectory()
        let real = folder.write(try BuiltPlugin.bytes("claims-formats"), to: "real")
        try shell("ln", "-s", real, folder.file("libcoder-a.so"))

        #expect(testHost(folder.path).plugins.map(\.status.state) == [.ready])
    }

    @Test func `does not follow the links of proc`() throws {
        let (folder, other) = (TemporaryDirectory(), TemporaryDirectory())
        let file = try File(reading: try BuiltPlugin.put("claims-formats", into: other, as: "real"))
        try shell("ln", "-s", "/proc/\(getpid())/fd/\(file.descriptor)", folder.file("libcoder-a.so"))

        let status = try #require(testHost(folder.path).plugins.first).status

        #expect(!status.isUsable)
        #expect(testHost(folder.path, policy: .any).plugins.map(\.status.state) == [.notAPlugin])
    }

    @Test func `may be a link itself`() throws {
        let folder = TemporaryDirectory()
        folder.folder("plugins")
        folder.write(try BuiltPlugin.bytes("claims-formats"), to: "plugins/libcoder-a.so")
        try shell("ln", "-s", "plugins", folder.file("link"))

        let plugin = try #require(testHost(folder.file("link")).plugins.first)

        #expect(plugin.status.state == .ready)
        #expect(plugin.path == folder.file("plugins/libcoder-a.so"))
    }

    // MARK: Files that are not regular

    @Test(arguments: ["folder", "fifo", "socket", "loop", "self", "dangling", "folder link"])
    func `never waits for`(kind: String) throws {
        let folder = TemporaryDirectory()
        let path = folder.file("libcoder-x.so")
        switch kind {
        case "folder": folder.folder("libcoder-x.so")
        case "fifo": try shell("mkfifo", path)
        case "socket":
            try shell(
                "perl", "-MIO::Socket::UNIX", "-e", "IO::Socket::UNIX->new(Type => 1, Local => $ARGV[0], Listen => 1)",
                path)
        case "loop":
            try shell("ln", "-s", "libcoder-y", path)
            try shell("ln", "-s", "libcoder-x.so", folder.file("libcoder-y"))
        case "self": try shell("ln", "-s", "libcoder-x.so", path)
        case "dangling": try shell("ln", "-s", "nothing", path)
        default: try shell("ln", "-s", "/", path)
        }
        try BuiltPlugin.put("claims-formats", into: folder, as: "libcoder-z.so")

        let plugins = testHost(folder.path, policy: .any).plugins

        #expect(plugins.map(\.status.state) == [.notAPlugin, .ready])
        #expect(!plugins[0].status.reason.isEmpty && !plugins[0].status.remedy.isEmpty)
    }

    /// A container may forbid this even to root.
    private static let canMakeDevices: Bool = {
        let folder = TemporaryDirectory()
        return (try? run(["mknod", folder.file("device"), "c", "1", "5"]).status) == 0
    }()

    @Test(.enabled(if: canMakeDevices, "this user makes no devices"), arguments: [["c", "1", "5"], ["b", "7", "99"]])
    func `opens no device`(numbers: [String]) throws {
        let folder = TemporaryDirectory()
        try #require(try run(["mknod", folder.file("libcoder-x.so")] + numbers).status == 0)

        #expect(testHost(folder.path).plugins.map(\.status.reason) == ["it is not a regular file"])
    }

    @Test func `has no plugins of more than 256 MiB`() throws {
        let folder = TemporaryDirectory()
        try shell("truncate", "-s", "257M", folder.file("libcoder-x.so"))

        #expect(testHost(folder.path).plugins.map(\.status.reason) == ["it is larger than 256 MiB"])
    }

    @Test func `never loads a set-user-ID plugin, whatever the policy`() throws {
        let folder = TemporaryDirectory()
        try shell("chmod", "u+s", try BuiltPlugin.put("claims-formats", into: folder))

        for policy in TrustPolicy.allCases {
            let status = try #require(testHost(folder.path, policy: policy).plugins.first).status
            #expect(status.state == .untrustedPath)
            #expect(status.reason.contains("set-user-ID"))
        }
    }

    // MARK: Change

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isRaised: Bool { value.load(ordering: .relaxed) }
        func raise() { value.store(true, ordering: .relaxed) }
    }

    @Test func `has a record for every file while it changes`() async throws {
        let folder = TemporaryDirectory()
        let steady = try BuiltPlugin.put("claims-formats", ["-DNAME=steady"], into: folder, as: "libcoder-steady.so")
        let bytes = try BuiltPlugin.bytes("claims-formats")
        let outside = TemporaryDirectory()
        let elsewhere = outside.write(Array("not a plugin".utf8), to: "text")
        let isOver = Flag()

        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var random = SeededRandom(3)
                var round = 0
                while !isOver.isRaised {
                    round += 1
                    let path = folder.file("libcoder-\(random.next() % 4).so")
                    switch random.next() % 8 {
                    case 0: _ = unsafe symlink(path, path)
                    case 1: _ = unsafe mkdir(path, 0o755)
                    case 2: _ = unsafe mkfifo(path, 0o644)
                    case 3: _ = writeFile(path, Array(bytes.prefix(Int(random.next() % 20_000))))
                    case 4: _ = unsafe symlink("libcoder-\(random.next() % 4).so", path)
                    case 5: _ = unsafe symlink(elsewhere, path)
                    case 6:
                        _ = writeFile(folder.file("new"), bytes)
                        _ = unsafe rename(folder.file("new"), path)
                    default: _ = unsafe remove(path)
                    }
                    if round % 3 == 0 { _ = unsafe remove(folder.file("libcoder-\(random.next() % 4).so")) }
                }
            }
            for _ in 0..<500 {
                let plugins = testHost(folder.path).plugins
                #expect(plugins.contains { $0.path == steady && $0.status.state == .ready })
                for plugin in plugins { #expect(plugin.status.isUsable || !plugin.status.reason.isEmpty) }
            }
            isOver.raise()
        }
    }

    @Test func `that is constantly replaced is examined as one or the other`() async throws {
        let parent = TemporaryDirectory()
        for name in ["a", "b"] {
            parent.folder(name)
            parent.write(try BuiltPlugin.bytes("claims-formats"), to: "\(name)/libcoder-\(name).so")
        }
        try shell("chmod", "0777", parent.file("b"))
        let isOver = Flag()

        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !isOver.isRaised {
                    for name in ["a", "b"] {
                        _ = unsafe rename(parent.file(name), parent.file("plugins"))
                        _ = unsafe rename(parent.file("plugins"), parent.file(name))
                    }
                }
            }
            for _ in 0..<500 {
                for plugin in testHost(parent.file("plugins")).plugins where plugin.status.isUsable {
                    #expect(plugin.fileName == "libcoder-a.so", "a file in a world-writable folder was trusted")
                }
            }
            isOver.raise()
        }
    }
}
