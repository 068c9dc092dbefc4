import CommandLineKit
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(40))) struct `A memory budget` {
    @Test func `never lends more than its bytes, and lets a request above the total run alone`() throws {
        let budget = MemoryBudget(bytes: 100)
        let lent = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let sizes = [30, 30, 30, 90, 1000, 0, 60, 100]
        DispatchQueue.concurrentPerform(iterations: 64) { index in
            let share = budget.share()
            let size = min(100, sizes[index % sizes.count])
            share.take(sizes[index % sizes.count])
            let now = lent.add(size, ordering: .sequentiallyConsistent).newValue
            most.max(now, ordering: .relaxed)
            usleep(200)
            lent.subtract(size, ordering: .sequentiallyConsistent)
            share.giveBack()
        }
        #expect(most.load(ordering: .relaxed) <= 100)
        #expect(most.load(ordering: .relaxed) > 0)
    }

    @Test func `replaces the bytes of a share instead of adding to them`() {
        let share = MemoryBudget(bytes: 10).share()
        // Each request alone fits; together they would wait forever.
        for _ in 0..<3 { share.take(8) }
        share.giveBack()
    }
}
