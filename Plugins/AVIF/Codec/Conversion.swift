internal import CoderPluginKit
internal import ImageModel

extension AVIFPlanes {
    /// The minimum number of pixels in a strip.
    private static let leastPixels = 1 << 16
    /// The number of pixels that justify another thread; fewer are converted before it has started.
    private static let parallelPixels = 1 << 19
    /// The number of strips between two progress reports.
    private static let batch = 16

    /// Converts a part of the planes; a large part on the host's threads.
    ///
    /// - Parameters:
    ///   - size: the size of the planes.
    ///   - reports: whether to report converted rows as progress.
    func convert(
        _ part: PixelRect, of size: PixelSize, _ image: Image, into target: SurfaceTarget, _ host: HostServices,
        reports: Bool = true
    ) throws(CoderError) {
        let strips = Self.strips(part.rows, of: size)
        func convert(_ index: Int) throws(CoderError) {
            try self.convert(strips[index], part, turns: image.turns, mirror: image.mirror, into: target)
        }
        let isLarge = size.width * part.height >= Self.parallelPixels
        var first = 0
        while first < strips.count {
            let count = isLarge ? min(Self.batch, strips.count - first) : 1
            try host.concurrently(count) { index, _ throws(CoderError) in try convert(first + index) }
            first += count
            if reports { host.progress(strips[first - 1].upperBound, of: size.height) }
        }
    }

    /// Ranges of rows that begin and end at odd rows, except at the edges.
    private static func strips(_ rows: Range<Int>, of size: PixelSize) -> [Range<Int>] {
        let step = 64 * max(1, leastPixels / (64 * max(1, size.width)))
        let last = min(size.height, rows.upperBound | 1)
        var strips: [Range<Int>] = []
        var row = rows.lowerBound == 0 ? 0 : (rows.lowerBound - 1) | 1
        while row < last {
            let end = min(row + step + (row == 0 ? 1 : 0), last)
            strips.append(row..<end)
            row = end
        }
        return strips
    }
}
