import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// What `auto` makes of a worker that cannot be started.
@Suite struct `A worker that is missing` {
    private static let picture = Array("flt!".utf8) + [0, 2, 0, 1, 3] + [1, 2, 3, 4, 5, 6]
    private static let other = Array("farbfeld".utf8) + [0, 0, 0, 1, 0, 0, 0, 1] + [1, 2, 3, 4, 5, 6, 255, 255]

    /// A host with a program for workers of its own.
    private func host(_ folder: TemporaryDirectory) throws -> CoderHost {
        try PluginBuilder.build("faulty/none.c", flags: ["-lm"], into: folder.path, named: "libcoder-own.so")
        var policy = IsolationPolicy(.auto, needed: [])
        policy.workerPath = folder.file("worker")
        return testHost(folder.path, Repository.workerPlugins, isolation: policy)
    }

    /// Where a picture was decoded.
    private func decode(_ picture: [UInt8], _ host: CoderHost) throws(CoderError) -> IsolationReport? {
        let session = try host.manager.openSession(ImageSource(picture, origin: .network))
        _ = try session.decodeImage(DecodeOptions())
        return session.isolation
    }

    @Test func `is made do without, and that is said`() throws {
        let folder = TemporaryDirectory()
        let report = try decode(Self.picture, try host(folder))
        #expect(report?.place == .inProcess && report?.isDegraded == true)
    }

    @Test func `lets nothing into the process that had one before`() throws {
        let folder = TemporaryDirectory()
        #expect(unsafe symlink(Repository.worker, folder.file("worker")) == 0)
        let host = try host(folder)
        #expect(try decode(Self.picture, host)?.place == .worker)
        // Another plugin needs another process, and there is none to be had.
        _ = unsafe unlink(folder.file("worker"))
        let error = #expect(throws: CoderError.self) { try decode(Self.other, host) }
        #expect(error?.code == .isolationUnavailable)
    }

    @Test func `for one plugin alone keeps that plugin out`() throws {
        let folder = TemporaryDirectory()
        // Ends once, as it does for a file that it cannot prepare.
        let script = "#!/bin/sh\n/bin/mkdir '\(folder.file("met"))' 2>/dev/null && exit 65\nexec '\(Repository.worker)'\n"
        _ = folder.write(Array(script.utf8), to: "worker")
        try shell("chmod", "755", folder.file("worker"))
        let host = try host(folder)
        let error = #expect(throws: CoderError.self) { try decode(Self.picture, host) }
        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("no worker can be made ready for libcoder-own.so") == true, "\(error as Any)")
        // Others have their workers.
        #expect(try decode(Self.other, host)?.place == .worker)
    }

    @Test func `because a plugin names its libraries at great length keeps that plugin out`() throws {
        let folder = TemporaryDirectory()
        #expect(unsafe symlink(Repository.worker, folder.file("worker")) == 0)
        let host = try host(folder)
        let library = try run(["gcc", "-print-file-name=libm.so.6"]).stdout.split(separator: "\n").joined()
        let real = try run(["realpath", library]).stdout.split(separator: "\n").joined()
        for count in 0..<15 {
            // More than a message has room for; each name leads to a library of the system.
            let name = String(repeating: "/.", count: 1950 + count) + real
            try shell("patchelf", "--add-needed", name, folder.file("libcoder-own.so"))
        }
        let error = #expect(throws: CoderError.self) { try decode(Self.picture, host) }
        #expect(error?.code == .pluginRefused, "\(error as Any)")
        #expect(try decode(Self.other, host)?.place == .worker)
    }
}
