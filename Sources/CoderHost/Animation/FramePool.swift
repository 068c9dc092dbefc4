import ImageModel
import ImageProcessing
import Synchronization

/// Decoded frames of one image, within a budget of bytes.
///
/// Whoever plays the image says what it needs next. Where there is no room for all frames, those stay that are needed
/// soonest, by any of the players; the one that will not be needed for longest goes first.
///
/// - Concurrency: any thread.
public final class FramePool: Sendable {
    /// A budget that holds two seconds of a usual animation.
    public static let defaultByteBudget = 64 << 20

    private struct State {
        var frames: [Int: ImageFrame] = [:]
        var bytes = 0
        var budget = FramePool.defaultByteBudget
        var demands: [Int: FrameOrder] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    init() {}

    /// Bytes of pixels that are kept at most.
    public var byteBudget: Int {
        get { state.withLock { $0.budget } }
        set {
            state.withLock { state in
                state.budget = max(0, newValue)
                Self.shrink(&state)
            }
        }
    }

    /// Bytes that are kept now.
    public var byteCount: Int { state.withLock { $0.bytes } }
    /// Frames that are kept now.
    public var count: Int { state.withLock { $0.frames.count } }

    public func frame(at index: Int) -> ImageFrame? { state.withLock { $0.frames[index] } }

    /// Offers a frame; it is kept unless it is the least useful one.
    func store(_ frame: ImageFrame, at index: Int) {
        state.withLock { state in
            if let old = state.frames.updateValue(frame, forKey: index) { state.bytes -= old.pixels.byteCount }
            state.bytes += frame.pixels.byteCount
            Self.shrink(&state)
        }
    }

    /// Forgets all frames.
    public func removeAll() {
        state.withLock { state in
            state.frames = [:]
            state.bytes = 0
        }
    }

    private static func shrink(_ state: inout State) {
        while state.bytes > state.budget {
            let least = state.frames.keys.max { a, b in
                let (stepsA, stepsB) = (steps(to: a, state), steps(to: b, state))
                return stepsA != stepsB ? stepsA < stepsB : a < b
            }
            guard let least, let frame = state.frames.removeValue(forKey: least) else { return }
            state.bytes -= frame.pixels.byteCount
        }
    }

    /// Whether a frame is missing that some player needs before a full pool would have been shown.
    func needs(_ index: Int, bytesPerFrame: Int) -> Bool {
        state.withLock { state in
            state.frames[index] == nil && Self.steps(to: index, state) < state.budget / max(1, bytesPerFrame)
        }
    }

    /// Frames that are shown before this one is needed, by the player that needs it first.
    private static func steps(to index: Int, _ state: State) -> Int {
        state.demands.values.reduce(.max) { min($0, $1.steps(to: index)) }
    }

    // MARK: Players

    /// Notes a player and answers the number it goes by.
    func register(_ order: FrameOrder) -> Int {
        state.withLock { state in
            state.nextID += 1
            state.demands[state.nextID] = order
            return state.nextID
        }
    }

    func update(_ id: Int, _ order: FrameOrder) { state.withLock { $0.demands[id] = order } }

    func remove(_ id: Int) { _ = state.withLock { $0.demands.removeValue(forKey: id) } }

    /// A frame that is not there and would be kept.
    struct Missing: Sendable, Hashable {
        var index: Int
        /// Frames that are shown before it is needed.
        var steps: Int
        /// Frames that the player misses among the next ones.
        var gain: Int
        /// How many next ones; its part of the pool.
        var share: Int
        /// Whether there is room without letting another frame go.
        var hasRoom: Bool

        /// Whether it is time for a replay of `cost` frames: not for one frame out of many, as long as another is next.
        func pays(_ cost: Int) -> Bool { hasRoom || steps <= 1 || 2 * gain >= min(cost, share) }
    }

    /// What each player misses first, the frame that is needed soonest before the others.
    func missing(bytesPerFrame: Int, within lookAhead: Int) -> [Missing] {
        state.withLock { state in
            let bytes = max(1, bytesPerFrame)
            let share = max(1, state.budget / bytes / max(1, state.demands.count))
            let hasRoom = state.bytes + bytes <= state.budget
            // Something less useful has to be there to make room.
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
