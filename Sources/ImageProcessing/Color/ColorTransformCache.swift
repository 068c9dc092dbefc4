public import ImageModel
import Synchronization

/// Keeps the transforms that were used last, for all sessions.
///
/// Preparing one costs from a tenth of a millisecond (code points) to some ten (tables of a printer); pictures of one
/// camera or one site all have the same profile.
public final class ColorTransformCache: Sendable {
    private struct Key: Hashable {
        var source, target: ColorProfile
        var sourceFormat, targetFormat: PixelFormat
        var toneMapping: ToneMapping

        /// Bytes of profiles that are kept with it.
        var cost: Int {
            [source, target].reduce(0) { sum, profile in
                if case .icc(let bytes) = profile { sum + bytes.count } else { sum }
            }
        }
    }

    private struct State {
        /// The one used last at the end.
        var entries: [(key: Key, transform: ColorTransform)] = []
        var cost = 0
        var (hits, misses) = (0, 0)
    }

    private let state = Mutex(State())
    private let maxCount: Int
    private let maxCost: Int

    /// - Parameter maxCount: transforms that are kept; a large one has 0.3 MiB.
    /// - Parameter maxBytes: bytes of the profiles they were made of.
    public init(maxCount: Int = 32, maxBytes: Int = 16 << 20) {
        self.maxCount = maxCount
        maxCost = maxBytes
    }

    public static let shared = ColorTransformCache()

    /// How often a transform was there, and how often not.
    public var statistics: (hits: Int, misses: Int) { state.withLock { ($0.hits, $0.misses) } }

    /// The transform, kept from before or prepared now.
    ///
    /// - Throws: as ``ColorTransform``; a refusal is not kept.
    public func transform(
        from source: ColorProfile, _ sourceFormat: PixelFormat, to target: ColorProfile, _ targetFormat: PixelFormat,
        toneMapping: ToneMapping = .standard
    ) throws(CoderError) -> ColorTransform {
        let key = Key(
            source: source, target: target, sourceFormat: sourceFormat, targetFormat: targetFormat,
            toneMapping: toneMapping)
        if let found = find(key) { return found }
        // Outside the lock: others may prepare theirs at the same time, and twice the same does no harm.
        let transform = try ColorTransform(
            from: source, sourceFormat, to: target, targetFormat, toneMapping: toneMapping)
        keep(key, transform)
        return transform
    }

    private func find(_ key: Key) -> ColorTransform? {
        state.withLock { state -> ColorTransform? in
            guard let index = state.entries.lastIndex(where: { $0.key == key }) else {
                state.misses += 1
                return nil
            }
            state.hits += 1
            state.entries.append(state.entries.remove(at: index))
            return state.entries.last?.transform
        }
    }

    private func keep(_ key: Key, _ transform: ColorTransform) {
        guard key.cost <= maxCost else { return }
        // Freed after the lock.
        let dropped = state.withLock { state -> [ColorTransform] in
            if state.entries.contains(where: { $0.key == key }) { return [] }
            state.entries.append((key, transform))
            state.cost += key.cost
            var dropped: [ColorTransform] = []
            while state.entries.count > maxCount || state.cost > maxCost {
                let oldest = state.entries.removeFirst()
                state.cost -= oldest.key.cost
                dropped.append(oldest.transform)
            }
            return dropped
        }
        _ = dropped
    }
}
