@testable import CoderHost
@testable import PluginCatalogue
import Testing

/// Times are in seconds here.
@Suite struct `The breaker of a plugin` {
    private func at(_ seconds: Int) -> Int { 1_000_000_000 + seconds * 1000 }

    private func admits(_ breaker: inout CircuitBreaker, _ seconds: Int) -> Bool { breaker.admit(at(seconds)) }

    @Test(arguments: [Quarantine.Phase.load, .initialize]) func `opens at the first failure of a start`(
        phase: Quarantine.Phase
    ) {
        var breaker = CircuitBreaker()
        breaker.fail(.crash, phase, at(0))

        #expect(breaker.state(at(0)) == .open(until: at(60)))
        #expect(breaker.state(at(59)) == .open(until: at(60)))
        #expect(breaker.state(at(60)) == .halfOpen)
        #expect(breaker.since == at(0))
    }

    @Test(arguments: [
        ([0, 1], false), ([0, 1, 2], true), ([0, 300, 599], true), ([0, 300, 600], false), ([0, 300, 600, 601], true),
        ([0, 700, 1400, 2100], false), ([0, 700, 800, 900], true),
    ]) func `opens at the third failure within ten minutes`(seconds: [Int], isOpen: Bool) throws {
        var breaker = CircuitBreaker()
        for second in seconds { breaker.fail(second % 2 == 0 ? .crash : .hang, .decode, at(second)) }

        let last = try #require(seconds.last)
        #expect(breaker.state(at(last)) == (isOpen ? .open(until: at(last + 60)) : .closed))
    }

    @Test func `admits one trial, and doubles the pause after a failure, up to an hour`() {
        var breaker = CircuitBreaker()
        breaker.fail(.crash, .load, at(0))
        var now = 60
        for wait in [120, 240, 480, 960, 1920, 3600, 3600] {
            #expect(!admits(&breaker, now - 1))
            #expect(admits(&breaker, now))
            #expect(!admits(&breaker, now), "a trial is in progress")
            breaker.fail(.hang, .decode, at(now))
            #expect(breaker.state(at(now)) == .open(until: at(now + wait)))
            now += wait
        }
        #expect(breaker.since == at(0))
    }

    @Test func `admits another trial if the first never finished`() {
        var breaker = CircuitBreaker()
        breaker.fail(.crash, .load, at(0))
        #expect(admits(&breaker, 100))
        #expect(!admits(&breaker, 159))
        #expect(admits(&breaker, 160))
    }

    @Test func `ignores failures of sessions that began before it opened`() {
        var breaker = CircuitBreaker()
        for _ in 0..<10 { breaker.fail(.crash, .decode, at(0)) }

        #expect(breaker.state(at(0)) == .open(until: at(60)))
        #expect(breaker.failures.count == 10)
        for _ in 0..<100 { breaker.fail(.crash, .decode, at(1)) }
        #expect(breaker.failures.count == CircuitBreaker.maxFailures)
    }

    @Test func `does not wait for a time in the far future`() {
        var breaker = CircuitBreaker(since: at(0), until: at(100_000), backOff: 60_000)
        breaker.failures = [.init(time: at(0), kind: .crash, phase: .load)]

        #expect(breaker.state(at(0)) == .halfOpen)
        breaker.trial = at(50_000)
        #expect(breaker.state(at(0)) == .halfOpen)
    }

    @Test func `expires after a while`() {
        var breaker = CircuitBreaker()
        breaker.fail(.crash, .decode, at(0))
        #expect(!breaker.isSpent(at(599)))
        #expect(breaker.isSpent(at(601)))
        breaker.fail(.crash, .load, at(700))
        #expect(!breaker.isSpent(at(100_000)))
        #expect(breaker.isSpent(at(31 * 86_400)))
    }
}
