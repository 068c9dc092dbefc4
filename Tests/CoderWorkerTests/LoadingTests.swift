import CIsolationWire
import Glibc
import TestSupport
import Testing

/// Loading a plugin in the worker.
@Suite(.timeLimit(.minutes(40))) struct `Loading in the worker` {
    private let folder = TemporaryDirectory()

    private func build(_ source: String, _ flags: [String] = []) throws -> String {
        try PluginBuilder.build(source, flags: flags, into: folder.path)
    }

    @Test(arguments: PluginBuilder.Edition.allCases)
    func `reports the plugin's description of itself`(edition: PluginBuilder.Edition) throws {
        let loaded = try WorkerProcess().loadGood(try PluginBuilder.buildQOI(edition, into: folder.path))

        #expect(loaded.id == "org.example.qoi-plugin")
        #expect(loaded.facts.threads == 1)
        #expect(loaded.facts.knows_all == 0)
        #expect(loaded.facts.abi_minor_built == [.older: 0, .current: 0, .future: 7][edition])
        #expect(loaded.coders.map { text($0.id) } == ["org.example.qoi"])
        #expect(loaded.coders[0].has_decoder == 1)
        #expect(loaded.coders[0].has_encoder == 1)
    }

    @Test(
        arguments: [
            ("major-2.c", "it does not export cpi_entry_1", CPI_NOT_MINE, ISO_STAGE_MAPPED),
            ("init-fails.c", "", nil, ISO_STAGE_READY), ("null-entry.c", "", nil, ISO_STAGE_ENTERED),
        ] as [(String, String, Int32?, Int32)])
    func `reports the last stage reached`(source: String, message: String, status: Int32?, stage: Int32) throws {
        guard case .loaded(let loaded) = try WorkerProcess().load(try build("bad/\(source)")) else {
            throw WorkerFailure("no answer")
        }

        #expect(loaded.facts.stage == UInt32(stage))
        #expect(loaded.facts.status < 0)
        if let status { #expect(loaded.facts.status == status) }
        if !message.isEmpty { #expect(loaded.message == message) }
    }

    @Test func `reports the loader's message for an invalid file`() throws {
        let path = try PluginBuilder.writeText(into: folder.path)
        guard case .loaded(let loaded) = try WorkerProcess().load(path) else { throw WorkerFailure("no answer") }

        #expect(loaded.facts.stage == UInt32(ISO_STAGE_CONFINED))
        #expect(loaded.facts.status == CPI_NOT_MINE)
        #expect(!loaded.message.isEmpty)
    }

    @Test func `reports which library is missing`() throws {
        let path = try PluginBuilder.buildMissingLibrary(into: folder.path)
        guard case .loaded(let loaded) = try WorkerProcess().load(path) else { throw WorkerFailure("no answer") }

        #expect(loaded.facts.status == CPI_NOT_MINE)
        #expect(loaded.message.hasPrefix("libcoderhost-absent.so.3: cannot open shared object file"))
    }

    @Test func `finds a library in a folder of the host's list`() throws {
        let library = TemporaryDirectory()
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-fvisibility=default", "-Wl,-soname,libcoderhost-absent.so.3"],
            into: library.path, named: "libcoderhost-absent.so.3")
        let path = try PluginBuilder.buildMissingLibrary(into: folder.path)
        let worker = try WorkerProcess()
        guard case .loaded(let loaded) = try worker.load(path, folders: WorkerProcess.folders + [library.path]) else {
            throw WorkerFailure("no answer")
        }

        #expect(loaded.message.isEmpty)
        #expect(loaded.facts.stage > UInt32(ISO_STAGE_CONFINED))
    }

    @Test func `counts the threads that a constructor started`() throws {
        let path = try build("isolation/keeps-thread.c")

        #expect(try WorkerProcess().loadGood(path).facts.threads == 2)
    }

    // MARK: Forbidden actions of a constructor

    @Test(
        .enabled(if: Seccomp.works),
        arguments: [
            "connect_out", "make_process", "run_program", "kill_parent", "outlive_parent", "debug_parent",
            "new_namespace",
        ])
    func `ends a constructor that tries to`(attempt: String) throws {
        let worker = try WorkerProcess()
        let outcome = try worker.load(try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=\(attempt)"]))

        guard case .violation(let call, let phase) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(call > 0)
        #expect(phase == UInt32(ISO_LOAD))
        #expect(try worker.end() == .signal(SIGSYS))
        #expect(worker.waitUntilNothingIsLeft())
    }

    @Test(.enabled(if: Landlock.works), arguments: ["read_file", "write_file"])
    func `denies a constructor to`(attempt: String) throws {
        _ = try WorkerProcess().loadGood(try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=\(attempt)"]))
    }

    @Test(.enabled(if: Seccomp.works), arguments: ["share_memory", "grow_memory_down"])
    func `denies a constructor memory that no limit counts`(attempt: String) throws {
        _ = try WorkerProcess().loadGood(try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=\(attempt)"]))
    }

    @Test(arguments: [("seccomp", ISO_SECCOMP_LOAD), ("landlock", ISO_LANDLOCK), ("namespaces", ISO_PID_NAMESPACE)])
    func `reports missing mechanisms before any plugin code runs`(denied: String, mechanism: Int) throws {
        let worker = try WorkerProcess(denying: denied)
        let path = try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=give_up"])

        guard case .end = try worker.load(path) else { throw WorkerFailure("the constructor did not run") }
        #expect(worker.confined[mechanism] > 0)
    }

    @Test func `does not stop by a signal that a constructor forged`() throws {
        let worker = try WorkerProcess()
        let outcome = try worker.load(try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=leave_a_stop"]))

        guard case .end = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try worker.end() == .exit(0))
        #expect(worker.waitUntilNothingIsLeft())
    }

    @Test(arguments: [("give_up", SIGABRT), ("crash", SIGSEGV)], [nil, "namespaces", "namespaces,landlock,seccomp"])
    func `ends by the signal that ended a constructor`(attempt: (String, Int32), denying: String?) throws {
        let worker = try WorkerProcess(denying: denying)
        let outcome = try worker.load(try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=\(attempt.0)"]))

        guard case .end = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try worker.end() == .signal(attempt.1))
    }

    @Test func `ends a slow constructor`() throws {
        let worker = try WorkerProcess()
        let path = try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=loop"])

        guard case .end = try worker.load(path, seconds: 1) else { throw WorkerFailure("the constructor returned") }
        #expect(try worker.end() == .signal(SIGXCPU))
    }

    @Test func `is limited in memory during loading`() throws {
        let worker = try WorkerProcess()
        let path = try build("isolation/tries.c", ["-DAT_LOAD", "-DTRY=take_memory"])

        // The constructor aborts if it gets no memory.
        guard case .end = try worker.load(path, dataBytes: 256 << 20) else { throw WorkerFailure("it returned") }
        #expect(try worker.end() == .signal(SIGABRT))
    }
}

/// Whether this machine grants seccomp; a container may deny it.
enum Seccomp {
    static let works = mechanism(ISO_SECCOMP_LOAD) == 0 && mechanism(ISO_SECCOMP_SEAL) == 0
}

enum Landlock {
    static let works = mechanism(ISO_LANDLOCK) == 0
}

private func mechanism(_ which: Int) -> Int32 {
    guard case .loaded(let loaded)? = try? WorkerProcess().probe() else { return -1 }
    return loaded.states[which]
}
