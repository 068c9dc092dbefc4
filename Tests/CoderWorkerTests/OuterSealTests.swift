import CIsolationWire
import Glibc
import TestSupport
import Testing

/// The limits for a plugin with malicious constructors, which only feigned the seal of its own process.
@Suite(.timeLimit(.minutes(40)), .enabled(if: Seccomp.works)) struct `The seal from outside` {
    private let folder = TemporaryDirectory()

    private func build(_ attempt: String, _ flags: [String] = ["-DFORGE"]) throws -> String {
        try PluginBuilder.build(
            "isolation/tries.c", flags: ["-DTRY=\(attempt)", "-pthread"] + flags, into: folder.path)
    }

    /// Loads a plugin that feigns its seal and makes an attempt when its header is read.
    private func attempt(
        _ name: String, denying: String? = nil, dataBytes: UInt64 = 4 << 30
    ) throws -> (process: WorkerProcess, worker: SealedWorker, outcome: Outcome) {
        let process = try WorkerProcess(denying: denying)
        _ = try process.loadGood(try build(name))
        let worker = try process.fork(dataBytes: dataBytes)
        _ = try worker.openDecoder([1])
        return (process, worker, try worker.ask(ISO_READ_HEADER, bytes(of: SealedWorker.input(1))))
    }

    // Also with only the filters in place.
    private static let machines = [nil, "namespaces,landlock", "landlock,pidfd,close-range"]

    @Test(
        arguments: [
            "read_file", "write_file", "raise_limit", "raise_soft_limit", "limit_parent",
        ], machines)
    func `denies quietly to`(attempt name: String, denying: String?) throws {
        let (process, worker, outcome) = try attempt(name, denying: denying)

        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.status == CPI_OK)
        // The process reports the seal in good faith, and the guardian confirms it.
        #expect(worker.states[ISO_SECCOMP_SEAL] == ISO_IN_FORCE)
        #expect(try process.seal().seal == ISO_IN_FORCE)
    }

    @Test(arguments: ["map_code", "make_code"], machines)
    func `ends everything when a plugin tries to`(attempt name: String, denying: String?) throws {
        let (process, _, outcome) = try attempt(name, denying: denying)

        guard case .end = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let call = try process.violationBehindTheSeal()
        #expect(try #require(call) > 0)
        #expect(try process.end() == .signal(SIGSYS))
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test(
        arguments: [
            "connect_out", "make_process", "run_program", "debug_parent", "map_code_for_a_file", "make_pipe",
            "replace_output", "open_by_handle", "change_mode", "change_owner", "set_attribute", "set_times",
            "watch_folder",
        ], machines)
    func `is not needed for actions forbidden even during loading`(attempt name: String, denying: String?) throws {
        guard case .violation = try attempt(name, denying: denying).outcome else {
            Issue.record("the call was permitted")
            return
        }
    }

    @Test(arguments: machines)
    func `limits memory even if a plugin changes its limits`(denying: String?) throws {
        let (_, _, outcome) = try attempt("raise_limit_and_take_memory", denying: denying, dataBytes: 256 << 20)

        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.status == CPI_NO_MEMORY)
    }

    @Test func `can change the memory limit between images`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try build("take_memory"))
        var workers: [SealedWorker] = []
        for (dataBytes, expected) in [(256, CPI_NO_MEMORY), (5 << 10, CPI_INTERNAL), (256, CPI_NO_MEMORY)] {
            let worker = try process.fork(dataBytes: UInt64(dataBytes) << 20)
            workers.append(worker)
            _ = try worker.openDecoder([1])
            let reply = try worker.reply(ISO_READ_HEADER, bytes(of: SealedWorker.input(1)))
            #expect(reply.status == expected, "\(dataBytes) MiB")
        }
    }

    @Test(arguments: machines)
    func `denies actions that loading does not need`(denying: String?) throws {
        for name in ["raise_soft_limit", "limit_parent"] {
            let process = try WorkerProcess(denying: denying)
            _ = try process.loadGood(try build(name, ["-DAT_LOAD"]))
        }
    }

    @Test func `stops a running thread of the plugin`() throws {
        let process = try WorkerProcess()
        // The thread's calls are denied endlessly; its loop is harmless.
        #expect(try process.loadGood(try build("leave_thread_that_opens", ["-DAT_LOAD"])).facts.threads == 2)
        #expect(try process.seal().seal == ISO_IN_FORCE)
        #expect(try process.seal(dataBytes: 1 << 30).limits == 0)
        process.hangUp()

        _ = try process.end()
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test(arguments: [("listener", EBUSY), ("listener=EINVAL", EINVAL), ("seccomp", EPERM)])
    func `is never reported if it is missing`(denying: String, error: Int32) throws {
        let (process, worker, outcome) = try attempt("map_code", denying: denying)

        // Reports of a plugin with malicious constructors are not trusted.
        #expect(try process.seal().seal == error)
        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.status == CPI_INTERNAL)
        #expect(worker.states[ISO_SECCOMP_SEAL] == error)
    }

    @Test func `is reported as missing before any plugin code runs`() throws {
        let worker = try WorkerProcess(denying: "listener")

        guard case .end = try worker.load(try build("give_up", ["-DAT_LOAD"])) else {
            throw WorkerFailure("the constructor did not run")
        }
        #expect(worker.confined[ISO_SECCOMP_SEAL] == EBUSY)
    }

    // MARK: Remaining processes

    @Test(arguments: [nil, "namespaces", "namespaces,pidfd"])
    func `permits no fork without the host's permit`(denying: String?) throws {
        let process = try WorkerProcess(denying: denying)
        guard case .end = try process.load(try build("leave_process", ["-DAT_LOAD"])) else {
            throw WorkerFailure("it forked")
        }
        #expect(try process.violationBehindTheSeal() == SystemCalls.clone)
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test func `permits one fork for each permit`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try build("leave_process"))
        // The plugin's second process would exceed the permitted number.
        let worker = try process.fork()
        _ = try worker.openDecoder([1])
        guard case .end = try worker.ask(ISO_READ_HEADER, bytes(of: SealedWorker.input(1))) else {
            throw WorkerFailure("it forked")
        }
        #expect(try process.violationBehindTheSeal() == SystemCalls.clone)
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test func `permits as many threads as the plugin declares`() throws {
        let process = try WorkerProcess()
        let path = try build("start_many_threads")
        guard case .loaded = try process.load(path, threads: 3) else { throw WorkerFailure("it was not loaded") }
        let worker = try process.fork(threads: true)
        _ = try worker.openDecoder([1])
        let reply = try worker.reply(ISO_READ_HEADER, bytes(of: SealedWorker.input(1)))
        #expect(reply.status == CPI_OK)
    }

    @Test(arguments: ["namespaces,seccomp", "listener", "namespaces,listener"])
    func `leaves no process forked by a plugin`(denying: String?) throws {
        for isAsked in [false, true] {
            let process = try WorkerProcess(denying: denying)
            _ = try process.loadGood(try build("leave_process", ["-DAT_LOAD"]))
            let worker = try process.fork()
            #expect(process.livingProcesses >= 4)
            #expect(worker.states[ISO_NO_NEW_PRIVILEGES] == 0)
            if isAsked { process.tellToEnd() } else { process.hangUp() }

            #expect(try process.end() == (isAsked ? .signal(SIGKILL) : .exit(0)))
            #expect(process.livingProcesses == 0)
        }
    }
}
