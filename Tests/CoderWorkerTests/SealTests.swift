import CIsolationWire
import Glibc
import TestSupport
import Testing

/// The actions forbidden to a plugin once input is available.
@Suite(.timeLimit(.minutes(40)), .enabled(if: Seccomp.works)) struct `The seal of the worker` {
    private let folder = TemporaryDirectory()

    /// Builds a plugin that makes an attempt when its header is read.
    private func attempt(
        _ name: String, flags: UInt32 = 0, threads: Bool = false, dataBytes: UInt64 = 4 << 30, seconds: UInt32 = 60,
        denying: String? = nil
    ) throws -> (process: WorkerProcess, worker: SealedWorker, outcome: Outcome) {
        let process = try WorkerProcess(denying: denying)
        let path = try PluginBuilder.build("isolation/tries.c", flags: ["-DTRY=\(name)"], into: folder.path)
        _ = try process.loadGood(path, flags: flags)
        let worker = try process.fork(threads: threads, dataBytes: dataBytes, seconds: seconds)
        _ = try worker.openDecoder([1])
        return (process, worker, try worker.ask(ISO_READ_HEADER, bytes(of: SealedWorker.input(1))))
    }

    @Test(
        arguments: [
            "connect_out", "make_process", "run_program", "map_code", "kill_parent", "outlive_parent", "raise_limit",
            "debug_parent", "new_namespace", "kill_itself",
        ], [nil, "namespaces,landlock"])
    func `ends a plugin that tries to`(attempt name: String, denying: String?) throws {
        let (process, _, outcome) = try attempt(name, denying: denying)

        guard case .violation(let call, let phase) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(call > 0)
        #expect(phase == UInt32(ISO_READ_HEADER))
        let ended = try process.endOfWorker()
        #expect(ended.worker == 5)
        #expect(ended.signal == SIGSYS)
        #expect(ended.exit_code == -1)
        // The process with the plugin continues, and forks another worker.
        _ = try process.fork()
    }

    @Test(arguments: ["read_file", "write_file", "look_at_file", "share_memory", "grow_memory_down"])
    func `denies quietly to`(attempt name: String) throws {
        let (_, worker, outcome) = try attempt(name)

        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.status == CPI_OK)
        #expect(worker.page.shared.refused_count == 0)
    }

    @Test func `records quiet denials`() throws {
        let (_, worker, outcome) = try attempt("read_file", flags: ISO_FLAG_RECORD)

        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.status == CPI_OK)
        #expect(worker.page.shared.refused_count == 1)
        #expect(worker.page.shared.refused.0 == UInt32(SystemCalls.openAt))
    }

    @Test func `lets a plugin start declared threads`() throws {
        let (_, _, outcome) = try attempt("start_thread", threads: true)

        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        // The attempt reports success as a fault.
        #expect(reply.status == CPI_INTERNAL)
    }

    @Test func `ends a plugin that starts an undeclared thread`() throws {
        let (process, _, outcome) = try attempt("start_thread")

        // The C library blocks signals around the call, so the call is not reported.
        guard case .end = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try process.endOfWorker().signal == SIGSYS)
    }

    #if arch(x86_64)
        @Test func `denies system calls of another architecture`() throws {
            let (process, _, outcome) = try attempt("other_machine")

            guard case .end = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(try process.endOfWorker().signal == SIGSYS)
        }
    #endif

    // MARK: Limits and faults

    @Test func `is limited in memory`() throws {
        let (_, _, outcome) = try attempt("take_memory", dataBytes: 256 << 20)

        guard case .reply(let reply) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.status == CPI_NO_MEMORY)
    }

    @Test func `is limited in processor time`() throws {
        let (process, _, outcome) = try attempt("loop", seconds: 1)

        guard case .end = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let ended = try process.endOfWorker()
        #expect(ended.signal == SIGXCPU)
        #expect(ended.cpu_microseconds > 0)
    }

    @Test(
        arguments: [("give_up", SIGABRT), ("crash", SIGSEGV)], [nil, "namespaces", "landlock"])
    func `reports the signal that ended a plugin`(attempt name: (String, Int32), denying: String?) throws {
        let (process, _, outcome) = try attempt(name.0, denying: denying)

        guard case .end = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try process.endOfWorker().signal == name.1)
    }
}

/// System call numbers of this architecture.
enum SystemCalls {
    #if arch(x86_64)
        static let clone: Int32 = 56
        static let openAt = 257
    #else
        static let clone: Int32 = 220
        static let openAt = 56
    #endif
}
