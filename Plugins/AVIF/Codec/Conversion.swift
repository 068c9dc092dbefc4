internal import CoderPluginKit
internal import ImageModel

extension AVIFPlanes {
    /// Pixels of a strip, at least.
    private static let leastPixels = 1 << 16
    /// Pixels that are worth another thread: fewer are done before it has begun.
    private static let parallelPixels = 1 << 19
    /// Strips between two reports of progress.
    private static let batch = 16

    /// Converts a part of the planes; a large one on the host's threads.
    ///
    /// - Parameters:
    ///   - size: that of the planes.
    ///   - reports: whether rows are told as progress.
    func convert(
        _ part: PixelRect, of size: PixelSize, _ picture: Picture, into target: SurfaceTarget, _ host: HostServices,
        reports: Bool = true
    ) throws(CoderError) {
        let strips = Self.strips(part.rows, of: size)
        func convert(_ index: Int) throws(CoderError) {
            try self.convert(strips[index], part, turns: picture.turns, mirror: picture.mirror, into: target)
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

    /// Ranges of rows that begin and end at odd rows, but at the edges.
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
