import CoderHost
import Dispatch
import Glibc
import ImageModel
import ImageProcessing
import struct Synchronization.Atomic
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Memory pressure` {
    /// A pressure source that a test triggers.
    private final class Alarm: PressureSource {
        private let semaphore = DispatchSemaphore(value: 0)
        private let isStopped = Atomic<Bool>(false)
        private let ended = DispatchSemaphore(value: 0)
        let kind = MemoryPressure.Watch.trigger("test")

        func wait() -> Bool {
            semaphore.wait()
            let goesOn = !isStopped.load(ordering: .sequentiallyConsistent)
            if !goesOn { ended.signal() }
            return goesOn
        }
        func stop() {
            isStopped.store(true, ordering: .sequentiallyConsistent)
            semaphore.signal()
        }
        func raise() { semaphore.signal() }
        /// Waits until the waiting thread has ended.
        func end() { ended.wait() }
    }

    private final class Clock: Sendable {
        let time = Atomic<UInt64>(5)
        var now: UInt64 { time.load(ordering: .relaxed) }
    }

    private func full(_ pressure: MemoryPressure) throws -> (cache: ImageCache, memory: MemoryCache) {
        let memory = MemoryCache()
        for number in 0..<8 { memory.store(try CacheBench.still(), for: "\(number)", cost: 10) }
        let cache = ImageCache(
            memory: memory, disk: nil, coders: CacheBench.coders, configuration: ImageCacheConfiguration(),
            pressure: pressure)
        return (cache, memory)
    }

    @Test func `releases half of the images, then all, and still finds images in use`() throws {
        let pressure = MemoryPressure { nil }
        let (cache, memory) = try full(pressure)
        let held = cache.image(for: "0")

        pressure.raise()
        #expect(memory.keys == ["0", "7", "6", "5"] && memory.statistics.cost == 40)
        pressure.raise()
        #expect(memory.keys.isEmpty)
        #expect(held != nil && cache.image(for: "0") === held)
    }

    @Test func `treats a notification after a long pause as a new shortage`() throws {
        let clock = Clock()
        let pressure = MemoryPressure(now: { clock.now }) { nil }
        let levels = Mutex<[MemoryShortage]>([])
        let observation = pressure.observe { level in levels.withLock { $0.append(level) } }

        for seconds in [0, 9, 9, 11, 1] as [UInt64] {
            clock.time.add(seconds * 1_000_000_000, ordering: .relaxed)
            pressure.raise()
        }

        #expect(levels.withLock { $0 } == [.moderate, .critical, .critical, .moderate, .critical])
        observation.cancel()
        pressure.raise()
        #expect(levels.withLock { $0.count } == 5)
    }

    @Test func `releases the frames of animations, which belong to no cache`() throws {
        let levels = Mutex<[MemoryShortage]>([])
        let pressure = MemoryPressure(releaseFrames: { level in levels.withLock { $0.append(level) } }) { nil }
        pressure.raise()
        pressure.raise()
        #expect(levels.withLock { $0 } == [.moderate, .critical])
    }

    @Test func `uses one thread for all caches while at least one observes`() async throws {
        let made = Mutex<[Alarm]>([])
        let pressure = MemoryPressure {
            let alarm = Alarm()
            made.withLock { $0.append(alarm) }
            return alarm
        }
        #expect(pressure.watch == nil)

        var (first, memory): (ImageCache?, MemoryCache) = try full(pressure)
        var second: ImageCache? = try full(pressure).cache
        #expect(pressure.watch == .trigger("test"))
        #expect(made.withLock { $0.count } == 1)
        let alarm = try #require(made.withLock { $0.first })

        let isTold = DispatchSemaphore(value: 0)
        // The order of the observers does not matter: both were called before the source waits again.
        let observation = pressure.observe { _ in isTold.signal() }
        alarm.raise()
        alarm.raise()
        await BlockingWork.wait(isTold)
        await BlockingWork.wait(isTold)
        observation.cancel()
        #expect(memory.statistics.count <= 4)

        first?.configuration.memory.respondsToPressure = false
        #expect(pressure.watch != nil)
        second = nil
        // The thread may still be running.
        while pressure.watch != nil { await Task.yield() }
        await BlockingWork.run { alarm.end() }

        first?.configuration.memory.respondsToPressure = true
        #expect(made.withLock { $0.count } == 2 && pressure.watch == .trigger("test"))
        first = nil
        #expect(second == nil && pressure.watch == nil)
    }

    @Test func `reports a system without pressure information`() throws {
        let pressure = MemoryPressure { nil }

        let (cache, memory) = try full(pressure)

        #expect(pressure.watch == .unavailable && memory.statistics.count == 8)
        withExtendedLifetime(cache) {}
    }

    @Test func `reports that its source has ended`() async throws {
        let folder = TemporaryDirectory()
        let path = folder.write(Array("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n".utf8), to: "memory")
        let pressure = MemoryPressure { PressureSampler(path, .averages, milliseconds: 1) }
        let observation = pressure.observe { _ in }
        #expect(pressure.watch == .samples(path))

        folder.write([], to: "memory")
        while pressure.watch != .unavailable { await Task.yield() }

        observation.cancel()
    }

    @Test func `reads the averages of the kernel, or counts the events of a control group`() {
        let text = "some avg10=7.51 avg60=1.00 avg300=0.25 total=123\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=1\n"
        #expect(PressureSampler.measure(text, .averages) == 7.51)
        #expect(PressureSampler.measure("full avg10=1.00\n", .averages) == nil)
        let events = "low 5\nhigh 2\nmax 3\noom 1\noom_kill 7\n"
        #expect(PressureSampler.measure(events, .events) == 6)
        #expect(PressureSampler.measure("nonsense", .events) == nil)
    }

    @Test func `reacts to averages above the threshold of the kernel trigger`() async throws {
        let folder = TemporaryDirectory()
        let path = folder.write(Array("some avg10=7.49 avg60=0.00\n".utf8), to: "memory")
        let sampler = try #require(PressureSampler(path, .averages, milliseconds: 1))

        async let alarm = BlockingWork.run { sampler.wait() }
        folder.write(Array("some avg10=7.50 avg60=0.00\n".utf8), to: "next")
        try #require(rename(folder.file("next"), path))

        #expect(await alarm)
        sampler.stop()
        #expect(!sampler.wait())
    }

    @Test func `reacts to an increasing number of events`() async throws {
        let folder = TemporaryDirectory()
        let path = folder.write(Array("high 2\nmax 0\n".utf8), to: "memory.events")
        let sampler = try #require(PressureSampler(path, .events, milliseconds: 1))

        let isOver = Atomic<Bool>(false)
        async let alarm = BlockingWork.run {
            defer { isOver.store(true, ordering: .sequentiallyConsistent) }
            return sampler.wait()
        }
        // Events from before the wait do not count, and the test cannot see when the wait starts. So it adds events
        // repeatedly.
        var count = 3
        while !isOver.load(ordering: .sequentiallyConsistent) {
            folder.write(Array("high \(count)\nmax 0\n".utf8), to: "next")
            try #require(rename(folder.file("next"), path))
            count += 1
            await Task.yield()
        }

        #expect(await alarm)
    }

    @Test func `selects the best source of the system`() {
        let folder = TemporaryDirectory()
        let missing = folder.file("missing")
        #expect(PressureFiles(system: missing, group: nil).source() == nil)
        #expect(PressureFiles(system: missing, group: missing).source() == nil)

        let events = folder.write(Array("high 0\nmax 0\n".utf8), to: "memory.events")
        #expect(PressureFiles(system: missing, group: folder.path).source()?.kind == .samples(events))
        let group = folder.write(Array("some avg10=0.00\n".utf8), to: "memory.pressure")
        #expect(PressureFiles(system: missing, group: folder.path).source()?.kind == .samples(group))
        let system = folder.write(Array("some avg10=0.00\n".utf8), to: "memory")
        #expect(PressureFiles(system: system, group: folder.path).source()?.kind == .samples(system))
        // No source has written a threshold into these regular files.
        #expect(readFile(system) == Array("some avg10=0.00\n".utf8))
    }

    /// Some kernels lack the file, and some containers do not allow writing it.
    private static let triggerIsAllowed = PressureTrigger("/proc/pressure/memory") != nil

    @Test(.enabled(if: triggerIsAllowed, "this system allows no trigger"))
    func `sets a kernel trigger, and stops waiting`() async throws {
        let path = "/proc/pressure/memory"
        let trigger = try #require(PressureTrigger(path))
        #expect(trigger.kind == .trigger(path))

        async let end: Void = BlockingWork.run { while trigger.wait() {} }
        trigger.stop()

        await end
        #expect(!trigger.wait())
    }
}

private func rename(_ from: String, _ to: String) -> Bool { unsafe Glibc.rename(from, to) == 0 }

extension BlockingWork {
    fileprivate static func wait(_ semaphore: DispatchSemaphore) async { await run { semaphore.wait() } }

    /// Runs work that cannot fail.
    fileprivate static func run<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }
}
