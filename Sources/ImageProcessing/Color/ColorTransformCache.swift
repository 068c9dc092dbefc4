import HostSystem
package import ImageModel

/// Keeps recently used color transforms for all sessions.
///
/// Preparing a transform takes from 0.1 ms (code points) to about 10 ms (printer tables). Images from one camera or one
/// site usually share a profile.
package final class ColorTransformCache: Sendable {
    private struct Key: Hashable {
        var source, target: ColorProfile
        var sourceFormat, targetFormat: PixelFormat
        var toneMapping: ToneMapping

        /// The profile bytes that are kept with the entry.
        var cost: Int {
            [source, target].reduce(0) { sum, profile in
                if case .icc(let bytes) = profile { sum + bytes.count } else { sum }
            }
        }
    }

    private struct State {
        /// The entries in order of use, the most recent last.
        var entries: [(key: Key, transform: ColorTransform)] = []
        var cost = 0
        var (hits, misses) = (0, 0)
    }

    private let state = Mutex(State())
    private let maxCount: Int
    private let maxCost: Int

    /// Creates a cache.
    ///
    /// - Parameter maxCount: the number of transforms to keep; a large one takes 0.3 MiB.
    /// - Parameter maxBytes: the number of profile bytes to keep.
    package init(maxCount: Int = 32, maxBytes: Int = 16 << 20) {
        self.maxCount = maxCount
        maxCost = maxBytes
    }

    /// The cache shared by all sessions.
    package static let shared = ColorTransformCache()

    /// The number of cache hits and misses.
    package var statistics: (hits: Int, misses: Int) { state.withLock { ($0.hits, $0.misses) } }

    /// Returns a cached transform, or prepares one.
    ///
    /// - Throws: as ``ColorTransform``; errors are not cached.
    package func transform(
        from source: ColorProfile, _ sourceFormat: PixelFormat, to target: ColorProfile, _ targetFormat: PixelFormat,
        toneMapping: ToneMapping = .standard
    ) throws(CoderError) -> ColorTransform {
        let key = Key(
            source: source, target: target, sourceFormat: sourceFormat, targetFormat: targetFormat,
            toneMapping: toneMapping)
        if let found = find(key) { return found }
        // Outside the lock: other threads may prepare transforms meanwhile; preparing the same one twice is harmless.
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
        // Freed outside the lock.
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
