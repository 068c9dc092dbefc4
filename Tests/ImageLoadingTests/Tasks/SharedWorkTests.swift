import ImageModel
import ImageProcessing
import HostSystem
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `Shared work` {
    private typealias Work = SharedWork<String, Int, Int>

    @Test func `runs once for concurrent callers, and again for later ones`() async throws {
        let work = Work()
        let runs = Count()
        let gate = Switch()
        for round in 1...3 {
            gate.isOpen = false
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await work.value(for: "a", LoadUrgency()) { _ in
                            runs.add()
                            while !gate.isOpen { await Task.yield() }
                            return .success(7)
                        }
                    }
                }
                try await Task.sleep(for: .milliseconds(20))
                gate.isOpen = true
                for try await value in group { #expect(value == 7) }
            }
            #expect(runs.value >= round)
        }
        #expect(work.count == 0)
    }

    @Test func `is cancelled with its last caller, and cannot be joined after that`() async throws {
        let work = Work()
        let ended = Count()
        let body: @Sendable (Work.Node) async -> Work.Outcome = { _ in
            while !Task.isCancelled { await Task.yield() }
            ended.add()
            return .failure(CoderError(.cancelled, "the work"))
        }
        let waiting = (0..<5).map { _ in Task { try await work.value(for: "a", LoadUrgency(), body) } }
        while work.count == 0 { await Task.yield() }
        try await Task.sleep(for: .milliseconds(10))
        for task in waiting.dropLast() { task.cancel() }
        for task in waiting.dropLast() { #expect(await task.result.isCancelled) }
        #expect(ended.value == 0)
        waiting.last?.cancel()
        // Starts new work at once, although the cancelled work is still ending.
        #expect(try await work.value(for: "a", LoadUrgency()) { _ in .success(1) } == 1)
        #expect(await waiting[4].result.isCancelled)
        while ended.value == 0 { await Task.yield() }
    }

    @Test func `has the priority of its most urgent waiting caller`() async throws {
        let work = Work()
        let seen = Locked<Work.Node?>(nil)
        let body: @Sendable (Work.Node) async -> Work.Outcome = { node in
            seen.withLock { $0 = node }
            while !Task.isCancelled { await Task.yield() }
            return .success(0)
        }
        let (low, high) = (LoadUrgency(.low), LoadUrgency(.high))
        let first = Task { try await work.value(for: "a", low, body) }
        while seen.withLock({ $0 }) == nil { await Task.yield() }
        let node = try #require(seen.withLock { $0 })
        func becomes(_ priority: LoadPriority) async { while node.urgency.priority != priority { await Task.yield() } }
        await becomes(.low)
        let second = Task { try await work.value(for: "a", high, body) }
        await becomes(.high)
        high.priority = .veryHigh
        await becomes(.veryHigh)
        second.cancel()
        await becomes(.low)
        first.cancel()
    }

    @Test func `answers every caller exactly once, with random cancellations`() async throws {
        let work = Work()
        let answers = Count()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    var random = SeededRandom(UInt64(number))
                    let task = Task {
                        try await work.value(for: "\(number % 7)", LoadUrgency()) { _ in
                            for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
                            return .success(number)
                        }
                    }
                    if random.next() % 2 == 0 {
                        for _ in 0..<random.next() % 10 { await Task.yield() }
                        task.cancel()
                    }
                    _ = await task.result
                    answers.add()
                }
            }
        }
        #expect(answers.value == 1000)
        while work.count > 0 { await Task.yield() }
    }
}

extension Result where Failure == any Error {
    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self { (error as? CoderError)?.code == .cancelled } else { false }
    }
}

@Suite struct `Admission queue` {
    private func order(_ kind: AdmissionQueue.Order, _ priorities: [LoadPriority]) async -> [Int] {
        let line = AdmissionQueue(limit: 1, order: kind)
        let done = Locked<[Int]>([])
        line.isSuspended = true
        await withTaskGroup(of: Void.self) { group in
            for (number, priority) in priorities.enumerated() {
                group.addTask {
                    try? await line.run(LoadUrgency(priority)) { () async throws(CoderError) in
                        done.withLock { $0.append(number + 1) }
                    }
                }
                while line.waiting <= number { await Task.yield() }
            }
            line.isSuspended = false
        }
        return done.withLock { $0 }
    }

    @Test func `admits the first or the last caller (D-15)`() async {
        let same = [LoadPriority](repeating: .normal, count: 6)
        #expect(await order(.firstInFirstOut, same) == [1, 2, 3, 4, 5, 6])
        #expect(await order(.lastInFirstOut, same) == [6, 5, 4, 3, 2, 1])
    }

    @Test func `admits the most urgent caller first`() async {
        #expect(await order(.firstInFirstOut, [.low, .normal, .veryHigh, .normal, .veryLow]) == [3, 2, 4, 1, 5])
    }

    @Test func `loses no slot to cancelled callers`() async throws {
        let line = AdmissionQueue(limit: 2)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let task = Task {
                        try await line.run(LoadUrgency()) { () async throws(CoderError) in await Task.yield() }
                    }
                    if number % 2 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        #expect(line.running == 0 && line.waiting == 0)
    }
}
