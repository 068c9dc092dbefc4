import ImageModel
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

    /// The frame that is needed soonest, is not there, and would be kept; nil: there is nothing to prepare.
    func nextMissing(bytesPerFrame: Int, within lookAhead: Int) -> Int? {
        state.withLock { state in
            var best: (steps: Int, index: Int)?
            for order in state.demands.values {
                var place = order
                for steps in 1...max(1, lookAhead) {
                    guard place.advance() else { break }
                    if state.frames[place.index] != nil { continue }
                    if steps < best?.steps ?? .max { best = (steps, place.index) }
                    break
                }
            }
            guard let best else { return nil }
            if state.bytes + bytesPerFrame <= state.budget { return best.index }
            // Something less useful has to be there to make room.
            let worst = state.frames.keys.map { Self.steps(to: $0, state) }.max() ?? 0
            return worst > best.steps ? best.index : nil
        }
    }
}
