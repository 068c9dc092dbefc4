import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// A plugin whose constructor patches its process, so that the process fails to seal itself.
@Suite(.enabled(if: FeignedSeal.isHeldFromOutside)) struct `A plugin that feigns its seal` {
    private func host(_ attempt: String, in folder: TemporaryDirectory) throws -> CoderHost {
        try PluginBuilder.build(
            "isolation/tries.c", flags: ["-DFORGE", "-DTRY=\(attempt)", "-pthread"], into: folder.path,
            named: "libcoder-bad.so")
        return testHost(folder.path, isolation: IsolationPolicy(.require, needed: []))
    }

    @Test func `is reported as sealed, because the guardian seals it`() throws {
        let folder = TemporaryDirectory()
        let host = try host("read_file", in: folder)
        try host.manager.withSession(badImage) { session throws(CoderError) in
            // The plugin returns an error if it could open the file.
            #expect(try session.decodeImage().size == PixelSize(2, 2))
            #expect(session.isolation?.confinement.inForce.contains(.seccompSeal) == true)
        }
    }

    @Test(arguments: [("make_pipe", "pipe2"), ("map_code", "mmap")])
    func `causes one error that names the system call`(attempt: (String, String)) throws {
        let folder = TemporaryDirectory()
        let host = try host(attempt.0, in: folder)
        let error = try #require(#expect(throws: CoderError.self) { try host.manager.decode(badImage) })
        #expect(error.code == .pluginCrashed)
        #expect(error.message.contains("tried \(attempt.1)"), "\(error)")
    }
}

enum FeignedSeal {
    static let isHeldFromOutside = (try? testHost().probeIsolation())?.inForce.contains(.seccompSeal) == true
}
