internal import CoderPluginKit
internal import ImageModel

/// One way to turn the current canvas into the next one.
struct FramePlan {
    /// The disposal of the frame before.
    var disposal: Disposal
    /// The canvas after this disposal.
    var base: PixelBuffer?
    var rect: PixelRect
    /// Whether unchanged pixels are written as transparent, and the frame is blended over the base.
    var hasHoles: Bool
    var filters: UInt8

    var area: Int { rect.width * rect.height }
    var blend: Blend { hasHoles ? .over : .source }
}

/// Lists the ways to write a frame that are worth trying.
struct FramePlanner {
    let host: HostServices
    let effort: EncodingEffort
    /// Whether frames can have transparent pixels.
    let canHaveHoles: Bool
    /// Whether the image has transparent pixels.
    let isTransparent: Bool
    let isIndexed: Bool

    /// Returns the ways to reach a canvas that differs from the shown one in `rect`, likely the best first.
    func plans(
        to surface: borrowing Surface, changed rect: PixelRect, after last: EncodedFrame, history: CanvasHistory
    ) throws(CoderError) -> [FramePlan] {
        guard let shown = history.shown else { return [] }
        var bases: [(disposal: Disposal, canvas: PixelBuffer, rect: PixelRect)] = [(.keep, shown, rect)]
        // If the image has no transparent pixels, the cleared rectangle would have to be painted again.
        if isTransparent, let cleared = try history.clearing(last.rect) {
            bases.append((.background, cleared, try difference(surface, cleared)))
        }
        // Pillow 13 does not restore the canvas correctly after a frame that is blended over it.
        if effort.comparesByTrial, last.blend == .source, let before = history.before {
            bases.append((.previous, before, try difference(surface, before)))
        }
        let least = bases.map { $0.rect.width * $0.rect.height }.min() ?? 0
        var plans: [FramePlan] = []
        for (disposal, canvas, rect) in bases {
            let area = rect.width * rect.height
            if area / 2 > least || (!effort.comparesByTrial && area > least) { continue }
            let isRepeated = plans.contains { $0.rect == rect && !$0.hasHoles }
            let coverage =
                canHaveHoles ? try FrameDifference.coverage(of: surface, from: canvas, in: rect, host: host) : nil
            let unchanged = coverage.map { $0.isChangedOpaque ? $0.unchanged : 0 } ?? 0
            // Holes add edges, which cost bytes; the saved area must outweigh them.
            let mayHaveHoles = effort.comparesByTrial ? unchanged > area / 16 : unchanged > area / 2
            let isSparse = unchanged > area - area / 8
            if !isRepeated, !mayHaveHoles || effort.comparesByTrial && !isSparse {
                plans += ways(FramePlan(disposal: disposal, base: canvas, rect: rect, hasHoles: false, filters: 0))
            }
            if mayHaveHoles {
                plans += ways(
                    FramePlan(disposal: disposal, base: canvas, rect: rect, hasHoles: true, filters: 0),
                    isSparse: unchanged > area / 2)
            }
        }
        return plans
    }

    /// The same way with different filters.
    func ways(_ plan: FramePlan, isSparse: Bool = false) -> [FramePlan] {
        var plans = [plan]
        plans[0].filters = isIndexed || isSparse ? EncodingEffort.unfiltered : EncodingEffort.adaptive
        if !isIndexed, effort.comparesAllFilters { plans.append(otherFilters(plans[0])) }
        return plans
    }

    /// The same way with filters added, or with filters removed.
    func otherFilters(_ plan: FramePlan) -> FramePlan {
        var other = plan
        other.filters =
            plan.filters == EncodingEffort.adaptive ? EncodingEffort.unfiltered : EncodingEffort.adaptive
        return other
    }

    /// Returns the rectangle that differs from a canvas; one pixel if none differs, since a frame cannot be empty.
    private func difference(
        _ surface: borrowing Surface, _ canvas: PixelBuffer
    ) throws(CoderError) -> PixelRect {
        try FrameDifference.rect(of: surface, from: canvas, host: host) ?? PixelRect(x: 0, y: 0, width: 1, height: 1)
    }
}
