import CIsolationWire
import Glibc
import TestSupport
import Testing

/// What holds the worker back, and whether it says so truly.
@Suite(.timeLimit(.minutes(40))) struct `The worker's confinement` {
    /// What this machine grants.
    private func states(denying words: String? = nil) throws -> [Int32] {
        let worker = try WorkerProcess(denying: words)
        guard case .loaded(let loaded) = try worker.probe() else { throw WorkerFailure("the probe is not answered") }
        worker.hangUp()
        #expect(try worker.end() == .exit(0))
        return loaded.states
    }

    @Test func `is told mechanism by mechanism`() throws {
        let states = try states()

        #expect(states.count == ISO_MECHANISM_COUNT)
        // What is not in force has the number of an error, and nothing is still to come.
        #expect(states.allSatisfy { $0 >= 0 && $0 < 134 })
        #expect(states[ISO_NO_NEW_PRIVILEGES] == 0)
        #expect(states[ISO_LIMITS] == 0)
    }

    @Test(
        arguments: [
            ("namespaces", EPERM, 2...7), ("namespaces=ENOSYS", ENOSYS, 2...7), ("landlock", ENOSYS, 8...10),
            ("landlock=EOPNOTSUPP", EOPNOTSUPP, 8...10), ("seccomp", EPERM, 11...12),
            ("seccomp=EINVAL", EINVAL, 11...12), ("limits", EPERM, 1...1),
        ] as [(String, Int32, ClosedRange<Int>)])
    func `names exactly what is missing`(words: String, error: Int32, mechanisms: ClosedRange<Int>) throws {
        var expected = try states()
        for mechanism in mechanisms { expected[mechanism] = error }

        #expect(try states(denying: words) == expected)
    }

    @Test func `may be nothing but limits`() throws {
        let states = try states(denying: "namespaces,landlock,seccomp,close-range,pidfd")

        #expect(states == [0, 0, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, ENOSYS, ENOSYS, ENOSYS, EPERM, EPERM])
    }

    @Test func `is complete before the first byte of input`() throws {
        let folder = TemporaryDirectory()
        let worker = try WorkerProcess()
        let loaded = try worker.loadGood(try PluginBuilder.buildQOI(into: folder.path))
        let sealed = try worker.fork()

        #expect(loaded.states[ISO_SECCOMP_SEAL] == ISO_NOT_YET)
        var expected = loaded.states
        expected[ISO_SECCOMP_SEAL] = try states()[ISO_SECCOMP_SEAL]
        #expect(sealed.states == expected)
    }

    @Test func `does nothing when started by hand`() throws {
        let result = try run([WorkerProcess.path])

        #expect(result.status == 64)
        #expect(result.stderr == "coderhost-worker is started by coderhost and does nothing by itself.\n")
    }
}
