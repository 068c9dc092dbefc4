import HostSystem
import ImageModel
import ImageProcessing

/// Decoded frames of one image, limited by a byte budget.
///
/// Players register the frames that they need next. If not all frames fit, the pool keeps the frames that any player needs soonest
/// and removes the frame that is needed last.
///
/// When memory is short, the pool releases frames and uses a smaller budget for a while; see ``FramePools``.
///
/// - Concurrency: any thread.
package final class FramePool: Sendable {
    /// The default budget, two seconds of a typical animation.
    package static let defaultByteBudget = 64 << 20

    private struct State {
        var frames: [Int: ImageFrame] = [:]
        var bytes = 0
        var budget = FramePool.defaultByteBudget
        /// A smaller budget while memory is short, and its end.
        var shortage: (budget: Int, end: UInt64)?
        var demands: [Int: FrameOrder] = [:]
        var nextID = 0
    }

    /// The time for which a shortage reduces the budget, in nanoseconds.
    static let shortageTime: UInt64 = 30_000_000_000

    private let state = Mutex(State())
    private let pools: FramePools
    /// Nanoseconds of a monotonic clock.
    private let now: @Sendable () -> UInt64

    init(_ pools: FramePools = .shared, now: @escaping @Sendable () -> UInt64 = { monotonicNow() }) {
        self.pools = pools
        self.now = now
        pools.add(self)
    }

    deinit { pools.remove(self) }

    /// The maximum bytes of pixels to keep.
    package var byteBudget: Int {
        get { state.withLock { $0.budget } }
        set {
            state.withLock { state in
                state.budget = max(0, newValue)
                shrink(&state)
            }
        }
    }

    /// The bytes of pixels in the pool.
    package var byteCount: Int { state.withLock { $0.bytes } }
    /// The number of frames in the pool.
    package var count: Int { state.withLock { $0.frames.count } }

    /// Returns the frame at `index` if the pool contains it.
    package func frame(at index: Int) -> ImageFrame? { state.withLock { $0.frames[index] } }

    /// Stores a frame unless it is the least useful one.
    func store(_ frame: ImageFrame, at index: Int) {
        state.withLock { state in
            if let old = state.frames.updateValue(frame, forKey: index) { state.bytes -= old.pixels.byteCount }
            state.bytes += frame.pixels.byteCount
            shrink(&state)
        }
    }

    /// Removes all frames.
    package func removeAll() {
        state.withLock { state in
            state.frames = [:]
            state.bytes = 0
        }
    }

    /// Releases frames because memory is short: half of their bytes, or all that no player needs next.
    ///
    /// The frames are decoded again when they are needed.
    func relieve(all: Bool) {
        state.withLock { state in
            state.shortage = (all ? 0 : state.bytes / 2, Self.sum(now(), Self.shortageTime))
            shrink(&state)
        }
    }

    private static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? .max : sum
    }

    /// The budget that applies now.
    private func budget(_ state: inout State) -> Int {
        if let shortage = state.shortage {
            if now() < shortage.end { return min(state.budget, shortage.budget) }
            state.shortage = nil
        }
        return state.budget
    }

    private func shrink(_ state: inout State) {
        let budget = budget(&state)
        while state.bytes > budget {
            let least = state.frames.keys.max { a, b in
                let (stepsA, stepsB) = (Self.steps(to: a, state), Self.steps(to: b, state))
                return stepsA != stepsB ? stepsA < stepsB : a < b
            }
            guard let least, let frame = state.frames.removeValue(forKey: least) else { return }
            state.bytes -= frame.pixels.byteCount
        }
    }

    /// Whether a frame is missing that a player needs within the next pool of frames.
    func needs(_ index: Int, bytesPerFrame: Int) -> Bool {
        state.withLock { state in
            let budget = budget(&state)
            return state.frames[index] == nil && Self.steps(to: index, state) < budget / max(1, bytesPerFrame)
        }
    }

    /// Returns the number of frames displayed before this one, by the player that needs it first.
    private static func steps(to index: Int, _ state: State) -> Int {
        state.demands.values.reduce(.max) { min($0, $1.steps(to: index)) }
    }

    // MARK: Players

    /// Registers a player and returns its id.
    func register(_ order: FrameOrder) -> Int {
        state.withLock { state in
            state.nextID += 1
            state.demands[state.nextID] = order
            return state.nextID
        }
    }

    func update(_ id: Int, _ order: FrameOrder) { state.withLock { $0.demands[id] = order } }

    func remove(_ id: Int) { _ = state.withLock { $0.demands.removeValue(forKey: id) } }

    /// A missing frame that the pool would keep.
    struct Missing: Sendable, Hashable {
        var index: Int
        /// The number of frames displayed before it is needed.
        var steps: Int
        /// The number of frames that the player misses within its share.
        var gain: Int
        /// The player's share of the pool, in frames.
        var share: Int
        /// Whether it fits without removing another frame.
        var hasRoom: Bool

        /// Whether a replay of `cost` frames pays off: not for one of many frames while a different frame is next.
        func pays(_ cost: Int) -> Bool { hasRoom || steps <= 1 || 2 * gain >= min(cost, share) }
    }

    /// Returns the first missing frame of each player, most urgent first.
    func missing(bytesPerFrame: Int, within lookAhead: Int) -> [Missing] {
        state.withLock { state in
            let bytes = max(1, bytesPerFrame)
            let budget = budget(&state)
            let share = max(1, budget / bytes / max(1, state.demands.count))
            let hasRoom = state.bytes + bytes <= budget
            // A less useful frame must be in the pool to make room.
            let worst = hasRoom ? .max : state.frames.keys.map { Self.steps(to: $0, state) }.max() ?? 0
            var result: [Missing] = []
            for order in state.demands.values {
                var place = order
                var first: Missing?
                for steps in 1...max(1, lookAhead) {
                    guard place.advance(), steps < worst, first == nil || steps < share else { break }
                    if state.frames[place.index] != nil { continue }
                    var found =
                        first ?? Missing(index: place.index, steps: steps, gain: 0, share: share, hasRoom: hasRoom)
                    found.gain += 1
                    first = found
                }
                if let first { result.append(first) }
            }
            return result.sorted { ($0.steps, $0.index) < ($1.steps, $1.index) }
        }
    }
}
