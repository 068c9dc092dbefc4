internal import CoderPluginKit
internal import ImageModel

extension AVIFPlanes {
    /// Pixels of a strip, at least: fewer are done before another thread has begun.
    private static let leastPixels = 1 << 16
    /// Strips between two reports of progress.
    private static let batch = 16

    /// Converts a part of the planes, on the host's threads.
    ///
    /// - Parameters:
    ///   - size: that of the planes.
    ///   - reports: whether rows are told as progress.
    func convert(
        _ part: PixelRect, of size: PixelSize, _ picture: Picture, into target: SurfaceTarget, _ host: HostServices,
        reports: Bool = true
    ) throws(CoderError) {
        let strips = Self.strips(part.rows, of: size)
        var first = 0
        while first < strips.count {
            let count = min(Self.batch, strips.count - first)
            try host.concurrently(count) { index, _ throws(CoderError) in
                try convert(
                    strips[first + index], part, turns: picture.turns, mirror: picture.mirror, into: target)
            }
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
