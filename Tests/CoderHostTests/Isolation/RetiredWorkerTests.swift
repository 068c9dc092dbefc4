import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// Idle workers that no session will use anymore.
@Suite(.serialized) struct `A worker that waits` {
    /// An image of 2 x 1 pixels.
    private static let source = ImageSource(Array("flt!".utf8) + [0, 2, 0, 1, 3] + [1, 2, 3, 4, 5, 6])

    private func host(_ folder: TemporaryDirectory, _ file: String, _ plugin: String) throws -> CoderHost {
        try PluginBuilder.build("faulty/\(plugin).c", flags: ["-lm"], into: folder.path, named: file)
        return testHost(
            folder.path, Repository.products, follows: true,
            isolation: IsolationPolicy(.require, reuse: .reuse(9), needed: []))
    }

    private func processesBecome(_ file: String, where isRight: (Int) -> Bool) -> Int {
        for _ in 0..<500 where !isRight(processes(named: file).count) { pause(milliseconds: 10) }
        return processes(named: file).count
    }

    @Test func `ends with its host`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-w\(UInt16.random(in: 1000...9999)).so"
        var host: CoderHost? = try host(folder, file, "none")
        _ = try host?.manager.decode(Self.source)
        #expect(processes(named: file).count >= 2)
        host = nil
        #expect(processesBecome(file) { $0 == 0 } == 0)
    }

    @Test func `ends when its plugin is replaced`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-w\(UInt16.random(in: 1000...9999)).so"
        let host = try host(folder, file, "none")
        _ = try host.manager.decode(Self.source)
        let before = processes(named: file)
        // Another file with the same name.
        _ = unsafe unlink("\(folder.path)/\(file)")
        try PluginBuilder.build("faulty/none.c", flags: ["-lm", "-DANOTHER_BUILD"], into: folder.path, named: file)
        _ = try host.manager.decode(Self.source)
        #expect(!before.isEmpty)
        let remaining = { processes(named: file).filter(before.contains) }
        for _ in 0..<500 where !remaining().isEmpty { pause(milliseconds: 10) }
        #expect(remaining().isEmpty)
        #expect(!processes(named: file).isEmpty)
    }
}
