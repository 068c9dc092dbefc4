import CoderHost
import HostSystem
import ImageProcessing

/// Notifies caches when the system runs out of memory.
///
/// One thread waits on behalf of all observers; without observers there is no thread. It waits for a trigger of the
/// kernel's pressure stall information if the process may set one. Otherwise it reads the averages, or the events of
/// its control group, every two seconds.
/// - Concurrency: any thread.
package final class MemoryPressure: Sendable {
    /// The way memory is watched.
    package enum Watch: Sendable, Hashable {
        /// The kernel sends notifications through this file.
        case trigger(String)
        /// This file is read periodically.
        case samples(String)
        /// The system provides no information; observers are never called.
        case unavailable
    }

    /// The monitor that all caches of the process share.
    package static let shared = MemoryPressure(
        releaseFrames: { AnimatedImage.releaseFrames(all: $0 == .critical) }, { PressureFiles().source() })

    private struct State {
        var observers: [Int: @Sendable (MemoryShortage) -> Void] = [:]
        var next = 0
        var source: (any PressureSource)?
        var lastTime: UInt64?
    }

    private let state = Mutex(State())
    private let makeSource: @Sendable () -> (any PressureSource)?
    private let now: @Sendable () -> UInt64
    /// Releases the frames of animations, which belong to no cache.
    private let releaseFrames: @Sendable (MemoryShortage) -> Void

    /// Notifications within ten seconds belong to the same shortage: this is five windows of the kernel's trigger,
    /// which fires at most once per window.
    private static let memory: UInt64 = 10_000_000_000

    init(
        now: @escaping @Sendable () -> UInt64 = { monotonicNow() },
        releaseFrames: @escaping @Sendable (MemoryShortage) -> Void = { _ in },
        _ makeSource: @escaping @Sendable () -> (any PressureSource)?
    ) {
        self.now = now
        self.releaseFrames = releaseFrames
        self.makeSource = makeSource
    }

    /// The way memory is watched; nil without observers.
    package var watch: Watch? {
        state.withLock { state in state.observers.isEmpty ? nil : state.source?.kind ?? .unavailable }
    }

    /// A registered observer; it ends when it is cancelled or released.
    package final class Observation: Sendable {
        private let end: @Sendable () -> Void
        fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
        /// Ends the observation.
        package func cancel() { end() }
    }

    /// Calls `body` whenever memory is short.
    ///
    /// - Parameter body: called on a separate thread; the next notification is read only after it returns.
    package func observe(_ body: @escaping @Sendable (MemoryShortage) -> Void) -> Observation {
        let number = state.withLock { state in
            state.next += 1
            state.observers[state.next] = body
            if state.source == nil, let source = makeSource() {
                // Without a thread, notifications cannot be received.
                let isRunning = runInBackground { [weak self] in
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

    /// Calls all observers.
    func raise() {
        let (observers, level) = state.withLock { state in
            let time = now()
            let isNear = state.lastTime.map { time - min($0, time) < Self.memory } ?? false
            state.lastTime = time
            return (Array(state.observers.values), isNear ? MemoryShortage.critical : .moderate)
        }
        for observer in observers { observer(level) }
        releaseFrames(level)
    }
}
