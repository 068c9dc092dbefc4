internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Reduces the colors of a still to a palette.
struct ColorReducer {
    private let settings: PaletteSettings
    private let host: HostServices

    /// The result for an image.
    enum Outcome {
        /// The image has few colors already.
        case unchanged
        /// A copy with few colors.
        case reduced(PixelBuffer)
        /// A palette would have less quality than the caller accepts.
        case trueColor
    }

    /// The refinement steps of a palette, and of the trials in the search for a number of colors.
    private static let rounds = (final: 8, trial: 2)

    init(_ settings: PaletteSettings, _ host: HostServices) {
        self.settings = settings
        self.host = host
    }

    /// The colors of an image.
    fileprivate struct Survey {
        var histogram = ColorHistogram(isFine: true)
        var hasHole = false
        var isTranslucent = false
    }

    func reduce(_ surface: borrowing Surface) throws(CoderError) -> Outcome {
        let survey = try survey(surface)
        let limit = settings.colors - (survey.hasHole ? 1 : 0)
        let counted = survey.histogram.points()
        if survey.histogram.isExact, counted.count <= limit, settings.quality == nil { return .unchanged }
        let metric: ColorMetric = survey.isTranslucent ? .translucent : .rgb
        guard let entries = try palette(metric.points(counted), limit, metric, survey.histogram) else {
            return .trueColor
        }
        if survey.histogram.isExact, counted.count <= entries.count { return .unchanged }
        let copy = try PixelBuffer(
            size: surface.size, format: surface.format.channels == .rgba ? .rgba8 : .rgb8)
        let search = EntrySearch(
            entries.colors, error: entries.error, metric, isTranslucent: survey.isTranslucent)
        let mapper = PaletteMapper(search: search, host: host)
        switch settings.dither {
        case .none: try mapper.replace(surface, copy)
        case .ordered:
            try mapper.screen(surface, copy, strength: Int32((2 * entries.error.squareRoot()).rounded()))
        case .diffusion, .auto: try mapper.diffuse(surface, copy)
        }
        return .reduced(copy)
    }

    private func survey(_ surface: borrowing Surface) throws(CoderError) -> Survey {
        var survey = Survey()
        var row = [UInt32](repeating: 0, count: surface.size.width)
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            PaletteRows.load(y, of: surface, into: &row)
            var (last, count) = (row[0], UInt32(0))
            for color in row {
                if color == last {
                    count += 1
                    continue
                }
                survey.add(last, count)
                (last, count) = (color, 1)
            }
            survey.add(last, count)
        }
        return survey
    }

    // MARK: The palette

    private struct Entries {
        var colors: [UInt32]
        /// The mean squared error of a pixel.
        var error: Float
        var count: Int { colors.count }
    }

    /// Returns the entries: as few as the best wanted quality needs; nil if they have less than the least one.
    private func palette(
        _ points: [ColorPoint], _ limit: Int, _ metric: ColorMetric, _ histogram: ColorHistogram
    ) throws(CoderError) -> Entries? {
        if points.isEmpty { return Entries(colors: [], error: 0) }
        let pixels = points.reduce(0) { $0 + $1.weight }
        let hidden = histogram.isExact ? 0 : histogram.errorInCell
        func entries(_ count: Int, rounds: Int) throws(CoderError) -> Entries {
            try host.checkCancellation()
            let (colors, error) = Quantizer.palette(points, limit: count, rounds: rounds, metric)
            return Entries(colors: colors, error: error / pixels + hidden)
        }
        guard let quality = settings.quality else { return try entries(limit, rounds: Self.rounds.final) }
        // Errors of a pixel, of three samples.
        let wanted = 3 * PaletteSettings.error(allowedBy: quality.upperBound)
        let accepted = 3 * PaletteSettings.error(allowedBy: quality.lowerBound)
        var (few, enough) = (1, limit)
        while enough - few > 1 {
            let middle = (few + enough) / 2
            if try entries(middle, rounds: Self.rounds.trial).error <= wanted { enough = middle } else { few = middle }
        }
        let best = try entries(enough, rounds: Self.rounds.final)
        if best.error <= accepted { return best }
        let reached = PaletteSettings.quality(of: best.error / 3)
        host.warn(
            "kept true color: \(settings.colors) colors have a quality of \(reached), below \(quality.lowerBound)")
        return nil
    }
}

extension ColorReducer.Survey {
    fileprivate mutating func add(_ color: UInt32, _ count: UInt32) {
        if color == ColorTable.transparent {
            hasHole = true
        } else {
            if color < 0xFF00_0000 { isTranslucent = true }
            histogram.add(color, count: count)
        }
    }
}
