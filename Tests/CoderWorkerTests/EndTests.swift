import CIsolationWire
import Glibc
import TestSupport
import Testing

/// No process of the worker remains, however the worker or the host ends.
@Suite(.timeLimit(.minutes(40))) struct `The end of the worker` {
    private let folder = TemporaryDirectory()

    private func path(_ attempt: String, _ flags: [String] = []) throws -> String {
        try PluginBuilder.build("isolation/tries.c", flags: ["-DTRY=\(attempt)"] + flags, into: folder.path)
    }

    private static let machines = [nil, "namespaces", "namespaces,landlock,seccomp,pidfd,close-range"]

    @Test(arguments: machines)
    func `follows the host's end`(denying: String?) throws {
        let process = try WorkerProcess(denying: denying)
        _ = try process.loadGood(try path("sleep_long"))
        let workers = [try process.fork(), try process.fork()]
        // One worker is inside the plugin, the other one waits.
        _ = try workers[0].openDecoder([1])
        workers[0].send(ISO_READ_HEADER, bytes(of: SealedWorker.input(1)))
        #expect(process.livingProcesses >= 4)
        process.hangUp()

        #expect(try process.end() == .exit(0))
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test(arguments: machines)
    func `follows the host's end while a plugin is loaded`(denying: String?) throws {
        let process = try WorkerProcess(denying: denying)
        let copy = try SharedMemory(
            try #require(readFile(try path("sleep_long", ["-DAT_LOAD"]))), sealed: true)
        var load = iso_load()
        load.max_descriptors = 64
        process.send(ISO_LOAD, bytes(of: load) + Array("/lib".utf8) + [0], descriptors: [copy.descriptor])
        // The plugin may be loaded already or not.
        usleep(20_000)
        process.hangUp()

        _ = try process.end()
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test(arguments: machines)
    func `follows the end of the started process`(denying: String?) throws {
        let process = try WorkerProcess(denying: denying)
        _ = try process.loadGood(try path("sleep_long"))
        let workers = [try process.fork(), try process.fork()]
        _ = try workers[0].openDecoder([1])
        workers[0].send(ISO_READ_HEADER, bytes(of: SealedWorker.input(1)))
        process.kill()

        #expect(try process.end() == .signal(SIGKILL))
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test(arguments: 0..<12)
    func `leaves no process if it is killed at any moment`(moment: Int) throws {
        let process = try WorkerProcess(denying: moment % 2 == 0 ? nil : "namespaces")
        process.send(ISO_PROBE)
        usleep(UInt32(moment * 1500))
        process.kill()

        #expect(try process.end() == .signal(SIGKILL))
        #expect(process.waitUntilNothingIsLeft())
    }

    @Test(arguments: machines)
    func `of one session follows the end of its socket`(denying: String?) throws {
        let process = try WorkerProcess(denying: denying)
        _ = try process.loadGood(try path("nothing"))
        var worker: SealedWorker? = try process.fork()
        #expect(worker != nil)
        worker = nil

        let ended = try process.endOfWorker()
        #expect(ended.exit_code == 0 && ended.signal == 0)
        #expect(ended.peak_bytes > 0)
        _ = try process.fork()
    }

    @Test(.enabled(if: Seccomp.works)) func `of one session can be forced by its descriptor`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try path("loop"))
        let worker = try process.fork()
        try #require(worker.pidfd >= 0)
        _ = try worker.openDecoder([1])
        worker.send(ISO_READ_HEADER, bytes(of: SealedWorker.input(1)))
        worker.kill()

        #expect(try process.endOfWorker().signal == SIGKILL)
    }
}
