import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// The behavior of `auto` if a worker cannot be started.
@Suite struct `A worker that is missing` {
    private static let image = Array("flt!".utf8) + [0, 2, 0, 1, 3] + [1, 2, 3, 4, 5, 6]
    private static let other = Array("farbfeld".utf8) + [0, 0, 0, 1, 0, 0, 0, 1] + [1, 2, 3, 4, 5, 6, 255, 255]

    /// A host with its own worker program.
    private func host(_ folder: TemporaryDirectory) throws -> CoderHost {
        try PluginBuilder.build("faulty/none.c", flags: ["-lm"], into: folder.path, named: "libcoder-own.so")
        var policy = IsolationPolicy(.auto, needed: [])
        policy.workerPath = folder.file("worker")
        return testHost(folder.path, Repository.workerPlugins, isolation: policy)
    }

    /// Returns where an image was decoded.
    private func decode(_ image: [UInt8], _ host: CoderHost) throws(CoderError) -> IsolationReport? {
        let session = try host.manager.openSession(ImageSource(image, origin: .network))
        _ = try session.decodeImage(DecodeOptions())
        return session.isolation
    }

    @Test func `is replaced by this process, with a report`() throws {
        let folder = TemporaryDirectory()
        let report = try decode(Self.image, try host(folder))
        #expect(report?.place == .inProcess && report?.isDegraded == true)
    }

    @Test func `does not move plugins into a process that had workers before`() throws {
        let folder = TemporaryDirectory()
        #expect(unsafe symlink(Repository.worker, folder.file("worker")) == 0)
        let host = try host(folder)
        #expect(try decode(Self.image, host)?.place == .worker)
        // Another plugin needs another process, which is not available.
        _ = unsafe unlink(folder.file("worker"))
        let error = #expect(throws: CoderError.self) { try decode(Self.other, host) }
        #expect(error?.code == .isolationUnavailable)
    }

    @Test func `for one plugin keeps that plugin out`() throws {
        let folder = TemporaryDirectory()
        // The script fails once, like the worker for a file that it cannot prepare.
        let script =
            "#!/bin/sh\n/bin/mkdir '\(folder.file("met"))' 2>/dev/null && exit 65\nexec '\(Repository.worker)'\n"
        _ = folder.write(Array(script.utf8), to: "worker")
        try shell("chmod", "755", folder.file("worker"))
        let host = try host(folder)
        let error = #expect(throws: CoderError.self) { try decode(Self.image, host) }
        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("cannot prepare a worker for libcoder-own.so") == true, "\(error as Any)")
        // Other plugins have their workers.
        #expect(try decode(Self.other, host)?.place == .worker)
    }

    @Test func `because of long library paths keeps that plugin out`() throws {
        let folder = TemporaryDirectory()
        #expect(unsafe symlink(Repository.worker, folder.file("worker")) == 0)
        let host = try host(folder)
        let library = try run(["gcc", "-print-file-name=libm.so.6"]).stdout.split(separator: "\n").joined()
        let real = try run(["realpath", library]).stdout.split(separator: "\n").joined()
        for count in 0..<15 {
            // More than fits into a message; each path leads to a system library.
            let name = String(repeating: "/.", count: 1950 + count) + real
            try shell("patchelf", "--add-needed", name, folder.file("libcoder-own.so"))
        }
        let error = #expect(throws: CoderError.self) { try decode(Self.image, host) }
        #expect(error?.code == .pluginRefused, "\(error as Any)")
        #expect(try decode(Self.other, host)?.place == .worker)
    }
}
