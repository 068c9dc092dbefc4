import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// The effects of misbehaving plugins in workers on the host.
@Suite struct `A faulty plugin in a worker` {
    struct Fault: CustomTestStringConvertible {
        let name: String
        /// The expected error; nil for the image, if the fault does not affect the host.
        let code: CoderError.Code?
        /// A part of the error message.
        let says: String

        init(_ name: String, _ code: CoderError.Code? = nil, _ says: String = "") {
            self.name = name
            self.code = code
            self.says = says
        }

        var testDescription: String { name }
    }

    static let faults = [
        Fault("segfault", .pluginCrashed, "crashed (SIGSEGV) while it decoded"),
        Fault("abort", .pluginCrashed, "crashed (SIGABRT) while it decoded"),
        Fault("exit", .pluginCrashed, "ended the process (exit code 0) while it decoded"),
        Fault("endless", .deadlineExceeded, "worker was ended"),
        Fault("fork-bomb", .pluginCrashed, "tried"),
        Fault("connects", .pluginCrashed, "socket"),
        Fault("closes-descriptors", .pluginCrashed),
        Fault("longjmp", .pluginCrashed),
        Fault("umask", .pluginCrashed, "umask"),
        Fault("opens-files"), Fault("locale"), Fault("signals"), Fault("environment"), Fault("writes-output"),
        Fault("wide-frame"), Fault("leak"), Fault("crashes-at-exit"), Fault("keeps-memory"), Fault("rounding"),
    ]

    /// 2 x 1 pixels, see `Tests/ThirdParty/faulty/plugin.h`.
    static let image = ImageSource(
        Array("flt!".utf8) + [0, 2, 0, 1, 3] + [10, 20, 30, 40, 50, 60], name: "image.flt")

    static func host(
        _ name: String, _ folder: TemporaryDirectory, as file: String = "libcoder-faulty.so", flags: [String] = []
    ) throws -> CoderHost {
        try PluginBuilder.build("faulty/\(name).c", flags: ["-pthread", "-lm"] + flags, into: folder.path, named: file)
        var limits = DecodeLimits.default
        // Only the endless plugin has to reach the time limit.
        limits.maxMilliseconds = name == "endless" || !flags.isEmpty ? 700 : 60_000
        limits.maxDecodedBytes = 32 << 20
        return testHost(
            folder.path, Repository.workerPlugins, limits: limits,
            isolation: IsolationPolicy(.require, needed: []))
    }

    @Test(arguments: faults)
    func `causes only one error`(fault: Fault) throws {
        let folder = TemporaryDirectory()
        let host = try Self.host(fault.name, folder)
        let before = ProcessState()
        if let code = fault.code {
            let error = try #require(#expect(throws: CoderError.self) { try host.manager.decode(Self.image) })
            #expect(error.code == code, "\(error)")
            #expect(error.message.contains(fault.says), "\(error)")
            #expect(error.coder == "org.example.faulty")
        } else {
            #expect(try host.manager.decode(Self.image).info.size == PixelSize(2, 1))
        }
        #expect(ProcessState() == before)
        // Other formats still work.
        let other = Fixture.valid("jpeg")[0]
        #expect(try host.manager.decode(ImageSource(other.bytes)).info.size == other.expect?.size)
    }

    struct LoadFault: CustomTestStringConvertible {
        let statement: String
        let code: CoderError.Code
        let says: String
        var testDescription: String { statement }
    }

    @Test(arguments: [
        LoadFault(statement: "abort();", code: .pluginCrashed, says: "it crashed (SIGABRT) while it was loading"),
        LoadFault(
            statement: "exit(0);", code: .pluginCrashed,
            says: "it ended the process (exit code 0) while it was loading"),
        LoadFault(
            statement: "for (volatile int i = 0; i >= 0; i = 1) {}", code: .deadlineExceeded, says: "longer than 700 ms"
        ),
    ])
    func `that fails while loading does not delay the session`(fault: LoadFault) throws {
        let folder = TemporaryDirectory()
        let host = try Self.host("none", folder, flags: ["-DON_INIT=\(fault.statement)"])
        let error = try #require(#expect(throws: CoderError.self) { try host.manager.decode(Self.image) })
        #expect(error.code == fault.code && error.message.contains(fault.says), "\(error)")
    }

    @Test func `is quarantined after three crashes, and the error names its formats`() throws {
        let folder = TemporaryDirectory()
        let host = try Self.host("segfault", folder)
        for _ in 0..<3 { #expect(throws: CoderError.self) { try host.manager.decode(Self.image) } }
        #expect(host.plugins.first { $0.id == "org.example.faulty-plugin" }?.status.state == .quarantined)
        let error = try #require(#expect(throws: CoderError.self) { try host.manager.decode(Self.image) })
        #expect(error.code == .noCoder)
        #expect(error.attempts.contains { $0.contains("quarantined") }, "\(error.attempts)")
        host.quarantine.clear()
        let again = try #require(#expect(throws: CoderError.self) { try host.manager.decode(Self.image) })
        #expect(again.code == .pluginCrashed)
    }

    @Test func `does not affect other sessions of the same plugin`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-k\(UInt16.random(in: 1000...9999)).so"
        let host = try Self.host("none", folder, as: file)
        let session = try host.manager.openSession(Self.image)
        let other = try host.manager.openSession(Self.image)
        // The zygote, then the two workers.
        let all = processes(named: file)
        try #require(all.count >= 3, "\(all)")
        killProcess(try #require(all.last))
        // It restarts, because only the system or a user sends this signal.
        #expect(try other.decodeImage().size == PixelSize(2, 1))
        #expect(try session.decodeImage().size == PixelSize(2, 1))
        // With the zygote all its workers end, and each session gets a new one.
        killProcess(try #require(processes(named: file).first))
        #expect(try session.decodeImage().size == PixelSize(2, 1))
        #expect(try host.manager.decode(Self.image).info.size == PixelSize(2, 1))
    }

    @Test func `that is killed repeats a smaller image or a part`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-k\(UInt16.random(in: 1000...9999)).so"
        let host = try Self.host("none", folder, as: file)
        var part = DecodeOptions()
        part.region = PixelRect(x: 1, y: 0, width: 1, height: 1)
        for options in [DecodeOptions.thumbnail(PixelSize(1, 1)), part] {
            let session = try host.manager.openSession(Self.image)
            killProcess(try #require(processes(named: file).last))
            #expect(try session.decodeImage(options).pixels.size == PixelSize(1, 1))
        }
    }

    @Test func `is not blamed for processes that another user ends`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-k\(UInt16.random(in: 1000...9999)).so"
        let host = try Self.host("none", folder, as: file)
        for _ in 0..<5 {
            #expect(try host.manager.decode(Self.image).info.size == PixelSize(2, 1))
            for process in processes(named: file) { killProcess(process) }
        }
        #expect(host.plugins.first { $0.id == "org.example.faulty-plugin" }?.status.state == .loaded)
    }

    /// A plugin that starts a thread in `init`: its process cannot fork and becomes the worker.
    @Test func `that cannot fork is not blamed for a worker that another user ends`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-k\(UInt16.random(in: 1000...9999)).so"
        let host = try Self.host("thread-of-init", folder, as: file)
        for _ in 0..<4 {
            let session = try host.manager.openSession(Self.image)
            let all = processes(named: file)
            try #require(!all.isEmpty)
            for process in all { killProcess(process) }
            #expect(try session.decodeImage().size == PixelSize(2, 1))
        }
        #expect(host.plugins.first { $0.id == "org.example.faulty-plugin" }?.status.state == .ready)
    }

    @Test(arguments: [
        (statement: "__builtin_trap();", says: "crashed (SIGILL) while it decoded"),
        // The exit code that a shell reports for SIGKILL.
        (statement: "_exit(137);", says: "ended the process (exit code 137) while it decoded"),
    ])
    func `that cannot fork is blamed for its own end`(statement: String, says: String) throws {
        let folder = TemporaryDirectory()
        let host = try Self.host("thread-of-init", folder, flags: ["-DAFTER_THREAD=\(statement)"])
        for _ in 0..<3 {
            let error = try #require(#expect(throws: CoderError.self) { try host.manager.decode(Self.image) })
            #expect(error.code == .pluginCrashed)
            #expect(error.message.contains(says), "\(error)")
        }
        #expect(host.plugins.first { $0.id == "org.example.faulty-plugin" }?.status.state == .quarantined)
    }

    @Test func `that ignores a cancellation is ended`() throws {
        let folder = TemporaryDirectory()
        let host = try Self.host("endless", folder)
        let context = Mutex<SessionContext?>(nil)
        let outcome = Mutex<CoderError?>(nil)
        runInParallel(2, threads: 2) { part in
            if part == 0 {
                do throws(CoderError) {
                    let session = try host.manager.openSession(Self.image)
                    context.withLock { $0 = session.context }
                    _ = try session.decodeImage()
                } catch {
                    outcome.withLock { $0 = error }
                }
            } else {
                while context.withLock({ $0 == nil }) { pause(milliseconds: 1) }
                pause(milliseconds: 30)
                context.withLock { $0 }?.cancel()
            }
        }
        #expect(outcome.withLock { $0?.code } == .cancelled)
    }
}
