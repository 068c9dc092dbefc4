/// A rectangle with rounded corners, or the line along it, in pixels; computes the coverage of each pixel.
final class RoundedShape {
    private let outer: Outline
    /// The edge of the hole in the middle, for a line.
    private let inner: Outline?
    /// The coverage shared by all rows that cross no corner, which are most rows.
    private var straight: (columns: Range<Int>, coverage: Coverage)?

    init(_ rect: PointRect, radius: Double = 0, corners: RectCorners = []) {
        outer = Outline(rect, radius, corners)
        inner = nil
    }

    /// Creates a line of a given width along the edge of a rectangle, half of it on either side.
    init(strokeOf rect: PointRect, radius: Double, corners: RectCorners, lineWidth: Double) {
        // Clamp first, so that the outer edge stays parallel to the line.
        let radius = Outline.clamped(radius, rect)
        let corners = radius > 0 ? corners : []
        outer = Outline(rect.inset(by: -lineWidth / 2), radius + lineWidth / 2, corners)
        let hole = rect.inset(by: lineWidth / 2)
        let isOpen = hole.width > 0 && hole.height > 0
        inner = isOpen ? Outline(hole, max(0, radius - lineWidth / 2), corners) : nil
    }

    enum Coverage {
        case empty, full
        /// One entry per pixel; 65,535 means full coverage.
        case partial([UInt16])
    }

    /// Returns the coverage of the pixels `columns` of row `y`.
    func coverage(_ y: Int, _ columns: Range<Int>) -> Coverage {
        let (top, bottom) = (Double(y), Double(y + 1))
        guard !columns.isEmpty, outer.bottom > top, outer.top < bottom else { return .empty }
        if inner == nil && outer.covers(top, bottom, columns) { return .full }
        guard outer.isWhole(top, bottom), inner?.isWhole(top, bottom) ?? true else {
            return .partial(computed(top, bottom, columns))
        }
        if let straight, straight.columns == columns { return straight.coverage }
        let coverage = Coverage.partial(computed(top, bottom, columns))
        straight = (columns, coverage)
        return coverage
    }

    private func computed(_ top: Double, _ bottom: Double, _ columns: Range<Int>) -> [UInt16] {
        var steps = [Double](repeating: 0, count: columns.count + 1)
        outer.add(1, top, bottom, columns, &steps)
        inner?.add(-1, top, bottom, columns, &steps)
        var sum = 0.0
        return (0..<columns.count).map { x in
            sum += steps[x]
            return UInt16((min(1, max(0, sum)) * 65_535).rounded())
        }
    }
}

/// A closed edge.
private struct Outline {
    var left, top, right, bottom: Double
    private var topLeft, topRight, bottomLeft, bottomRight: Double

    static func clamped(_ radius: Double, _ rect: PointRect) -> Double {
        max(0, min(radius, rect.width / 2, rect.height / 2))
    }

    init(_ rect: PointRect, _ radius: Double, _ corners: RectCorners) {
        (left, top) = (rect.x, rect.y)
        (right, bottom) = (rect.x + rect.width, rect.y + rect.height)
        let radius = Self.clamped(radius, rect)
        topLeft = corners.contains(.topLeft) ? radius : 0
        topRight = corners.contains(.topRight) ? radius : 0
        bottomLeft = corners.contains(.bottomLeft) ? radius : 0
        bottomRight = corners.contains(.bottomRight) ? radius : 0
    }

    /// Returns whether a stripe as high as a row crosses no corner.
    private func isStraight(_ from: Double, _ to: Double) -> Bool {
        from >= top + max(topLeft, topRight) && to <= bottom - max(bottomLeft, bottomRight)
    }

    /// Returns whether a row lies within the height and crosses no corner.
    func isWhole(_ from: Double, _ to: Double) -> Bool { from >= top && to <= bottom && isStraight(from, to) }

    func covers(_ from: Double, _ to: Double, _ columns: Range<Int>) -> Bool {
        isWhole(from, to) && left <= Double(columns.lowerBound)
            && right >= Double(columns.upperBound)
    }

    /// Adds the coverage increase from pixel to pixel: exact across, sampled on sixteen lines where the edge is round.
    func add(_ sign: Double, _ from: Double, _ to: Double, _ columns: Range<Int>, _ steps: inout [Double]) {
        let (from, to) = (max(from, top), min(to, bottom))
        guard to > from else { return }
        let lines = isStraight(from, to) ? 1 : 16
        let height = (to - from) / Double(lines)
        for line in 0..<lines {
            let y = from + (Double(line) + 0.5) * height
            let start = left + max(inset(topLeft, y - top), inset(bottomLeft, bottom - y))
            let end = right - max(inset(topRight, y - top), inset(bottomRight, bottom - y))
            guard end > start else { continue }
            Self.step(sign * height, at: start, columns, &steps)
            Self.step(-sign * height, at: end, columns, &steps)
        }
    }

    /// Returns the inset of a corner's arc at a distance from its edge.
    private func inset(_ radius: Double, _ distance: Double) -> Double {
        guard distance < radius else { return 0 }
        let height = radius - distance
        return radius - (radius * radius - height * height).squareRoot()
    }

    private static func step(_ value: Double, at x: Double, _ columns: Range<Int>, _ steps: inout [Double]) {
        let place = min(max(x - Double(columns.lowerBound), 0), Double(columns.count))
        let pixel = min(Int(place), columns.count - 1)
        let part = place - Double(pixel)
        steps[pixel] += value * (1 - part)
        steps[pixel + 1] += value * part
    }
}
