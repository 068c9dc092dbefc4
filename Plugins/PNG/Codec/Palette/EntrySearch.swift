internal import Palettes

/// Finds the palette entry of a color.
struct EntrySearch {
    /// The index of a transparent pixel.
    static let hole = -1
    /// The squared error that a pixel may have above its best, in mean errors. Measured: 5 % of the bytes of photos for
    /// 0.1 dB.
    private static let tolerated: Float = 0.5

    private let entries: [UInt32]
    private let metric: ColorMetric
    private let places: [SIMD4<Float>]
    private let lanes: ColorLanes
    /// Nil if entries are translucent.
    private let nearest: NearestColors?
    private let tolerance: Float

    /// - Parameters:
    ///   - entries: without the transparent one.
    ///   - error: the mean squared error of a pixel.
    init(_ entries: [UInt32], error: Float, _ metric: ColorMetric, isTranslucent: Bool) {
        self.entries = entries
        self.metric = metric
        let points = entries.map(metric.point)
        places = points.map(\.place)
        lanes = ColorLanes(points)
        nearest = isTranslucent ? nil : NearestColors(entries, margin: 0, metric)
        tolerance = Self.tolerated * error
    }

    /// Returns the color of an entry.
    func color(_ index: Int) -> UInt32 { index == Self.hole ? ColorTable.transparent : entries[index] }

    /// Returns the entry nearest to a color.
    func index(nearestTo color: UInt32) -> Int {
        if let nearest { return Int(nearest.index(nearestTo: color)) }
        return lanes.nearest(metric.point(color).place).index
    }

    /// Returns the entry of a neighbor if it is about as good as the nearest: equal neighbors need fewer bytes.
    func index(for color: UInt32, preferring first: Int, _ second: Int) -> Int {
        if let nearest {
            let (best, least) = nearest.nearest(color)
            let limit = Float(least) + tolerance
            for index in [first, second] where index != Self.hole {
                if Float(NearestColors.distance(color, entries[index])) <= limit { return index }
            }
            return Int(best)
        }
        let place = metric.point(color).place
        let (best, least) = lanes.nearest(place)
        for index in [first, second] where index != Self.hole {
            let difference = place - places[index]
            if (difference * difference).sum() <= least + tolerance { return index }
        }
        return best
    }
}
