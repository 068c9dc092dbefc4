import HostSystem

/// The frame pools of all animations, which share the memory of the process.
///
/// - Concurrency: any thread.
package final class FramePools: Sendable {
    /// The pools of all animations of this process.
    package static let shared = FramePools()

    private struct Entry {
        weak var pool: FramePool?
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    init() {}

    /// Releases decoded frames because memory is short: half of each pool, or all frames.
    ///
    /// For 30 seconds the pools keep no more than that; then they fill again.
    package func relieve(all: Bool) {
        let pools = entries.withLock { $0.values.compactMap(\.pool) }
        for pool in pools { pool.relieve(all: all) }
    }

    func add(_ pool: FramePool) { entries.withLock { $0[ObjectIdentifier(pool)] = Entry(pool: pool) } }

    func remove(_ pool: FramePool) { entries.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(pool)) } }
}

extension AnimatedImage {
    /// Releases decoded frames of all animations, because memory is short; they are decoded again when they are needed.
    ///
    /// An application with an image cache need not call this: the cache watches the memory of the system.
    /// - Parameter all: whether to release all frames; otherwise half of them.
    public static func releaseFrames(all: Bool) { FramePools.shared.relieve(all: all) }
}
