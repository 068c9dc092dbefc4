@testable import CoderHost
import ImageModel
import ImageProcessing
@testable import PluginRuntime
import Synchronization
import TestSupport
import Testing

/// Eight threads decode in workers, some of which are cancelled, killed, or crash.
///
/// `make tsan` runs these tests under the thread sanitizer, which finds races that the checks miss.
@Suite(.serialized, .timeLimit(.minutes(40))) struct `Isolation on many threads` {
    @Test func `gives every session its image or one error`() throws {
        let race = try IsolationRace()
        race.run(threads: 8, rounds: 24)
        #expect(race.problem == nil)
        #expect(race.decoded.count > 0 && race.cancelled.count > 0)
        #expect(race.killed.count > 0 && race.crashed.count > 0)
        #expect(race.isSound())
    }

    /// Tests shared and unshared memory.
    @Test func `takes shared memory that is not in use`() {
        let surfaces = SharedSurfaces(clearsUsed: true)
        let wrong = RelaxedCounter()
        runInParallel(8, threads: 8) { thread in
            for round in 0..<40 {
                let byte = UInt8(thread * 25 + round % 25)
                guard let buffer = try? surfaces.pool.take(PixelSize(200, 90), .rgba8, clean: false),
                    surfaces.block(of: buffer) != nil
                else { return wrong.add() }
                let count = 200 * 90 * 4
                if !buffer.isSame(as: [UInt8](repeating: 0, count: count)) { wrong.add() }
                buffer.fill(byte)
                if !buffer.isSame(as: [UInt8](repeating: byte, count: count)) { wrong.add() }
            }
        }
        #expect(wrong.count == 0)
    }

    @Test func `gives every slot to one session at a time, even if others stop waiting`() {
        let slots = WorkerSlots(2)
        let inside = Occupancy()
        let served = RelaxedCounter()
        let wrong = RelaxedCounter()
        let givenUp = RelaxedCounter()
        runInParallel(8, threads: 8) { thread in
            for round in 0..<40 {
                var limits = DecodeLimits.default
                // Every other attempt of two threads times out immediately.
                if thread < 2, round % 2 == 0 { limits.maxMilliseconds = 1 }
                do throws(CoderError) {
                    try slots.take(SessionContext(limits: limits))
                } catch {
                    givenUp.add()
                    continue
                }
                if inside.enter() > 2 { wrong.add() }
                pause(milliseconds: 1)
                inside.leave()
                served.add()
                slots.giveBack()
            }
        }
        #expect(wrong.count == 0)
        #expect(givenUp.count > 0 && served.count + givenUp.count == 8 * 40)
    }
}

/// The number of current sessions, with relaxed ordering.
private final class Occupancy: Sendable {
    private let count = Atomic<Int>(0)

    /// - Returns: the number of current sessions.
    func enter() -> Int { count.add(1, ordering: .relaxed).newValue }
    func leave() { count.subtract(1, ordering: .relaxed) }
}
