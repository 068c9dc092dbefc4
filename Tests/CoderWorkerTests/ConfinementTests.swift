import CIsolationWire
import Glibc
import TestSupport
import Testing

/// The confinement of the worker, and its report.
@Suite(.timeLimit(.minutes(40))) struct `The worker's confinement` {
    /// Returns the states on this machine.
    private func states(denying words: String? = nil) throws -> [Int32] {
        let worker = try WorkerProcess(denying: words)
        guard case .loaded(let loaded) = try worker.probe() else { throw WorkerFailure("the probe has no answer") }
        worker.hangUp()
        #expect(try worker.end() == .exit(0))
        return loaded.states
    }

    @Test func `is reported for each mechanism`() throws {
        let states = try states()

        #expect(states.count == ISO_MECHANISM_COUNT)
        // A missing mechanism has an error number, and none is still pending.
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
    func `reports exactly the missing mechanisms`(words: String, error: Int32, mechanisms: ClosedRange<Int>) throws {
        var expected = try states()
        for mechanism in mechanisms { expected[mechanism] = error }

        #expect(try states(denying: words) == expected)
    }

    @Test func `may consist of limits only`() throws {
        let states = try states(denying: "namespaces,landlock,seccomp,close-range,pidfd")

        #expect(states == [0, 0, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, ENOSYS, ENOSYS, ENOSYS, EPERM, EPERM])
    }

    @Test func `is complete before the first input byte`() throws {
        let folder = TemporaryDirectory()
        let worker = try WorkerProcess()
        let loaded = try worker.loadGood(try PluginBuilder.buildQOI(into: folder.path))
        let sealed = try worker.fork()

        #expect(loaded.states[ISO_SECCOMP_SEAL] == ISO_NOT_YET)
        var expected = loaded.states
        expected[ISO_SECCOMP_SEAL] = try states()[ISO_SECCOMP_SEAL]
        #expect(sealed.states == expected)
    }

    @Test func `refuses to start by hand`() throws {
        let result = try run([WorkerProcess.path])

        #expect(result.status == 64)
        #expect(result.stderr == "coderhost-worker is started by coderhost and does nothing by itself.\n")
    }
}
