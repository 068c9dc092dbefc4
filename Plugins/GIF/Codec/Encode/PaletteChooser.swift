internal import Palettes

/// Chooses by result: exact for few colors, the global palette while it is good, otherwise a local one.
struct PaletteChooser {
    /// The squared error that each byte of a palette must save, in mean errors of a pixel.
    ///
    /// One more bit for each pixel would save three quarters of the error: 2 · ln 2 · 8 ≈ 11 mean errors per byte. Half
    /// of that is enough for a palette, because finer indices do not exist.
    private static let worth: Float = 6
    /// The squared error per byte below which the gain is not visible.
    private static let leastWorth: Float = 100
    /// The squared error that a pixel may give away for shorter data, in mean errors. Measured: a sixth of the bytes of
    /// photos for half a decibel, and noise is not drawn again in each frame.
    private static let tolerated: Float = 1.25
    private static let greatestTolerance: Float = 1000
    /// The number of refinement steps for the colors of the first frame and of later frames.
    private static let rounds = (first: 8, later: 4)
    /// The free entries of the global palette that are worth filling with the colors of a frame.
    private static let leastRoom = 64

    let settings: GIFSettings
    private var metric: ColorMetric { settings.distance.metric }
    /// Whether pixels of an approximate frame may take any color about as good as the best.
    var isTolerant = true
    private var histogram = ColorHistogram()
    private var hasHoles = false
    /// The mean squared error per pixel in the frame for which the global palette was made.
    private var globalError: Float = 0
    private var globalNearest: NearestColors?

    init(_ settings: GIFSettings) { self.settings = settings }

    /// Returns the colors for the changed pixels of a rectangle: those that differ between `source` and `prior`.
    ///
    /// - Parameter capacity: the number of colors for which the global palette has room.
    /// - Parameter hasLater: whether frames may follow; they leave pixels out and need a transparent index.
    /// - Parameter isExact: whether all shown pixels are exact.
    mutating func palette(
        for canvas: FrameCanvas, in rect: ChangedRect, global: ColorTable?, capacity: Int, hasLater: Bool,
        isExact: Bool
    ) -> FramePalette {
        count(canvas, rect)
        let counted = histogram.points()
        let pixels = max(1, counted.reduce(0) { $0 + $1.weight })
        guard let global else { return first(counted, pixels, needsSkip: hasLater || canvas.transparency.isInSource) }
        let limit = min(settings.colors, 255)
        if settings.palette != .global, isExact, histogram.isExact, counted.count <= limit {
            var table = ColorTable([ColorTable.transparent])
            for point in counted { _ = table.index(adding: point.color) }
            return FramePalette(table: table, isGlobal: false)
        }
        let points = metric.points(counted)
        let isUsable = settings.palette != .local && global.transparentIndex != nil && global.colors.count > 1
        let error = isUsable ? ColorKernels.error(of: global.colors, points, metric) : .infinity
        let bytes = Float(3 << FramePalette.bits(min(points.count, limit) + 1))
        let worth = max(Self.leastWorth / metric.unit, Self.worth * globalError)
        if isUsable,
            settings.palette == .global && capacity - global.colors.count < Self.leastRoom
                || error <= worth * bytes
        {
            return shared(global, error / pixels)
        }
        if settings.palette != .local, global.transparentIndex != nil,
            capacity - global.colors.count >= Self.leastRoom
        {
            // Colors in the palette of the file cost nothing, and later frames can use them.
            var table = global
            let room = capacity - global.colors.count
            for color in Quantizer.palette(points, limit: room, rounds: Self.rounds.later, metric).colors {
                _ = table.index(adding: color)
            }
            let left = ColorKernels.error(of: table.colors, points, metric) / pixels
            globalError = left
            return shared(table, left)
        }
        let (colors, left) = Quantizer.palette(points, limit: limit, rounds: Self.rounds.later, metric)
        if isUsable, settings.palette == .auto, error - left <= worth * bytes { return shared(global, error / pixels) }
        return local(colors, left / pixels)
    }

    /// Returns the colors of the first frame, which become the global palette.
    private mutating func first(_ points: [ColorPoint], _ pixels: Float, needsSkip: Bool) -> FramePalette {
        var table = ColorTable()
        // An opaque frame of 256 colors stays exact, even if later frames then cannot leave pixels out.
        let fits = histogram.isExact && points.count <= settings.colors
        let goesWithout = points.count == 256 && fits && settings.palette != .global
        if needsSkip, !(goesWithout && !hasHoles) { _ = table.index(adding: ColorTable.transparent) }
        if fits, points.count + table.colors.count <= 256 {
            for point in points { _ = table.index(adding: point.color) }
            return FramePalette(table: table, isGlobal: true)
        }
        let limit = min(settings.colors, 256 - table.colors.count)
        let (colors, left) = Quantizer.palette(
            metric.points(points), limit: limit, rounds: Self.rounds.first, metric)
        globalError = left / pixels
        for color in colors { _ = table.index(adding: color) }
        return shared(table, globalError)
    }

    /// Counts the colors of the changed pixels.
    private mutating func count(_ canvas: FrameCanvas, _ rect: ChangedRect) {
        hasHoles = canvas.transparency.isInSource
        histogram.removeAll()
        for y in rect.rows {
            var (last, count) = (ColorTable.transparent, UInt32(0))
            for place in canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y)
            where canvas.source[place] != canvas.prior[place] {
                let color = canvas.source[place]
                if color == last {
                    count += 1
                    continue
                }
                if last != ColorTable.transparent { histogram.add(last, count: count) }
                (last, count) = (color, 1)
            }
            if last != ColorTable.transparent { histogram.add(last, count: count) }
        }
    }

    /// Returns the global palette extended by the changed colors; nil if it has no room for all of them.
    func grown(
        _ global: ColorTable, for canvas: FrameCanvas, in rect: ChangedRect, capacity: Int
    ) -> ColorTable? {
        var table = global
        let skip = table.transparentIndex
        for y in rect.rows {
            var last = ColorTable.transparent
            for place in canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y) {
                let isChanged = canvas.source[place] != canvas.prior[place]
                if !isChanged, skip != nil { continue }
                let color = isChanged ? canvas.source[place] : canvas.shown[place]
                if color == last { continue }
                if table.colors.count < capacity {
                    if table.index(adding: color) == nil { return nil }
                } else if table.index(of: color) == nil {
                    return nil
                }
                last = color
            }
            if skip == nil, table.transparentIndex != nil { return nil }
        }
        return table
    }

    private func tolerance(_ meanError: Float) -> Int32 {
        isTolerant ? Int32(min(Self.tolerated * meanError, Self.greatestTolerance / metric.unit)) : 0
    }

    private func local(_ colors: [UInt32], _ meanError: Float) -> FramePalette {
        let tolerance = tolerance(meanError)
        let table = ColorTable([ColorTable.transparent] + colors)
        return FramePalette(
            table: table, nearest: NearestColors(table.colors, margin: tolerance, metric), tolerance: tolerance,
            meanError: meanError * metric.unit, isGlobal: false)
    }

    private mutating func shared(_ table: ColorTable, _ meanError: Float) -> FramePalette {
        let tolerance = tolerance(meanError)
        if globalNearest == nil || globalNearest!.colors.count != table.colors.count
            || globalNearest!.margin < tolerance
        {
            globalNearest = NearestColors(table.colors, margin: tolerance, metric)
        }
        return FramePalette(
            table: table, nearest: globalNearest, tolerance: tolerance,
            meanError: meanError * metric.unit, isGlobal: true)
    }
}
