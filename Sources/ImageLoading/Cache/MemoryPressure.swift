import CoderHost
import ImageProcessing
import Synchronization

/// Tells caches when the system runs out of memory.
///
/// One thread waits for all of them; there is none while nobody asks. The kernel's pressure stall information is what it
/// waits for: an alarm where the process may set one, or else a look at the averages every other second, or at the
/// events of the own control group.
/// - Concurrency: any thread.
public final class MemoryPressure: Sendable {
    public enum Level: Sendable, Hashable {
        /// Memory runs short.
        case moderate
        /// It still does, shortly after something was done about it.
        case critical
    }

    /// How memory is watched.
    public enum Watch: Sendable, Hashable {
        /// The kernel calls, by this file.
        case trigger(String)
        /// This file is looked at from time to time.
        case samples(String)
        /// The system tells nothing; nobody will be called.
        case unavailable
    }

    /// That of the process.
    public static let shared = MemoryPressure { PressurePlaces().source() }

    private struct State {
        var observers: [Int: @Sendable (Level) -> Void] = [:]
        var next = 0
        var source: (any PressureSource)?
        var lastTime: UInt64?
    }

    private let state = Mutex(State())
    private let makeSource: @Sendable () -> (any PressureSource)?
    private let now: @Sendable () -> UInt64

    /// Alarms that follow within ten seconds are one shortage that goes on: five windows of the kernel's alarm, which is
    /// raised once in each of them at most.
    private static let memory: UInt64 = 10_000_000_000

    init(
        now: @escaping @Sendable () -> UInt64 = { monotonicNow() },
        _ makeSource: @escaping @Sendable () -> (any PressureSource)?
    ) {
        self.now = now
        self.makeSource = makeSource
    }

    /// How memory is watched now; nil while nobody asks for it.
    public var watch: Watch? {
        state.withLock { state in state.observers.isEmpty ? nil : state.source?.kind ?? .unavailable }
    }

    /// Somebody who is told; until it is cancelled, or until it goes.
    public final class Observation: Sendable {
        private let end: @Sendable () -> Void
        fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
        public func cancel() { end() }
    }

    /// Calls `body` whenever memory runs short.
    ///
    /// - Parameter body: on a thread of its own; what it lets go is gone before the next alarm is looked at.
    public func observe(_ body: @escaping @Sendable (Level) -> Void) -> Observation {
        let number = state.withLock { state in
            state.next += 1
            state.observers[state.next] = body
            if state.source == nil, let source = makeSource() {
                // Without a thread there is nothing to wait with.
                let isRunning = BackgroundThread.start { [weak self] in
                    while source.wait() { self?.raise() }
                    self?.forget(source)
                }
                if isRunning { state.source = source }
            }
            return state.next
        }
        return Observation { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        let source = state.withLock { state -> (any PressureSource)? in
            state.observers[number] = nil
            guard state.observers.isEmpty else { return nil }
            defer { state.source = nil }
            return state.source
        }
        source?.stop()
    }

    deinit { state.withLock { $0.source }?.stop() }

    private func forget(_ source: any PressureSource) {
        state.withLock { state in if state.source === source { state.source = nil } }
    }

    /// Tells everybody.
    func raise() {
        let (observers, level) = state.withLock { state in
            let time = now()
            let isNear = state.lastTime.map { time - min($0, time) < Self.memory } ?? false
            state.lastTime = time
            return (Array(state.observers.values), isNear ? Level.critical : .moderate)
        }
        for observer in observers { observer(level) }
    }
}
