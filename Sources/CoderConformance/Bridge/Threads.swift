import CConformance
import Glibc
import HostSystem
import struct Synchronization.Atomic

/// Runs work on separate threads.
enum Threads {
    private final class Task {
        let work: () -> Void
        init(_ work: @escaping () -> Void) { self.work = work }
    }

    private final class Answers: Sendable {
        let all = Mutex<[String]>([])
    }

    /// Runs `body` several times in parallel, waits for all, and returns their messages.
    static func together(_ count: Int, _ body: @escaping () -> String?) -> [String] {
        let answers = Answers()
        let threads = (0..<count).compactMap { _ in
            start { if let answer = body() { answers.all.withLock { $0.append(answer) } } }
        }
        for thread in threads { pthread_join(thread, nil) }
        return answers.all.withLock { $0 }
    }

    /// Runs `body` once for each thread number below `count` (this thread is number 0), and waits for all.
    static func shared(_ count: Int, _ body: @escaping (Int) -> Void) {
        let threads = (1..<max(1, count)).compactMap { number in start { body(number) } }
        body(0)
        for thread in threads { pthread_join(thread, nil) }
    }

    private static func start(_ work: @escaping () -> Void) -> pthread_t? {
        var thread = pthread_t()
        let task = unsafe Unmanaged.passRetained(Task(work))
        let status = unsafe pthread_create(
            &thread, nil,
            { task in
                unsafe Unmanaged<Task>.fromOpaque(task!).takeRetainedValue().work()
                return nil
            }, task.toOpaque())
        return status == 0 ? thread : nil
    }

    private final class Peak: Sendable {
        let isOver = Atomic<Bool>(false)
        let count = Atomic<Int>(0)
    }

    /// Returns the largest number of threads while `body` ran, without the counting thread.
    static func peak(during body: () -> Void) -> Int {
        let peak = Peak()
        let watcher = start {
            while !peak.isOver.load(ordering: .relaxed) {
                let count = Int(kit_thread_count()) - 1
                if count > peak.count.load(ordering: .relaxed) { peak.count.store(count, ordering: .relaxed) }
                usleep(200)
            }
        }
        body()
        peak.isOver.store(true, ordering: .relaxed)
        if let watcher { pthread_join(watcher, nil) }
        return peak.count.load(ordering: .relaxed)
    }
}
