internal import CoderPluginKit
internal import ImageModel

/// Chooses the sample form of a still.
struct SampleChooser {
    let options: CoderOptions
    let effort: StillEffort
    /// Whether the image gets a palette if it has few colors.
    let wantsPalette: Bool
    let blobs: [MetadataBlob]
    let host: HostServices

    struct Choice {
        var layout: RowCompressor.Layout
        var palette: GrowingPalette?
        var filters: UInt8
    }

    /// Whether the choice depends on all pixels.
    var needsWholeImage: Bool { effort.reducesSamples || wantsPalette }

    /// Returns the sample form of the input.
    func plain(_ format: PixelFormat) throws(CoderError) -> Choice {
        let isColor = format.channels == .rgb || format.channels == .rgba
        return Choice(
            layout: RowCompressor.Layout(
                colorType: (isColor ? 2 : 0) | (format.hasTransparency ? 4 : 0), depth: format.bits),
            filters: try filters(isIndexed: false))
    }

    func choose(
        for surface: borrowing Surface, _ info: ImageInfo, _ compressor: RowCompressor
    ) throws(CoderError) -> Choice {
        let format = surface.format
        let isColor = format.channels == .rgb || format.channels == .rgba
        var plain = try plain(format)
        if effort.reducesSamples {
            let survey = try SampleSurvey(of: surface, host: host)
            // A profile for RGB does not describe gray.
            if survey.isGray, !info.color.hasProfile, !blobs.contains(where: { $0.kind == .icc }) {
                plain.layout.colorType &= ~2
            }
            if survey.isOpaque { plain.layout.colorType &= ~4 }
            if survey.isDoubled { plain.layout.depth = 8 }
        }
        guard isColor, format.bits == 8, wantsPalette || effort.reducesSamples else { return plain }
        let palette = try GrowingPalette(hasHole: false)
        let all = PixelRect(surface.size)
        guard try palette.add(surface, all, isOpaque: !format.hasTransparency, host: host) else { return plain }
        palette.sort()
        let indexed = Choice(
            layout: RowCompressor.Layout(colorType: 3, depth: palette.depth), palette: palette,
            filters: try filters(isIndexed: true))
        if wantsPalette { return indexed }
        // PLTE and tRNS, each with its chunk overhead.
        let extra = palette.entries.count + 24
        let isSmaller =
            try length(of: surface, indexed, compressor) + extra < length(of: surface, plain, compressor)
        return isSmaller ? indexed : plain
    }

    /// Estimates the length of the stream.
    private func length(
        of surface: borrowing Surface, _ choice: Choice, _ compressor: RowCompressor
    ) throws(CoderError) -> Int {
        try compressor.start(
            width: surface.size.width, format: surface.format, isOpaque: !surface.format.hasTransparency,
            layout: choice.layout, palette: choice.palette,
            effort: RowCompressor.Effort(.isal, level: 1, filters: choice.filters, isTrial: true))
        for first in stride(from: 0, to: surface.size.height, by: 64) {
            try host.checkCancellation()
            try compressor.push(surface, rows: first..<min(first + 64, surface.size.height), step: 1)
        }
        try compressor.finish()
        return compressor.length
    }

    /// The allowed filters.
    private func filters(isIndexed: Bool) throws(CoderError) -> UInt8 {
        switch options.string("png.filter") ?? "adaptive" {
        case "none": 0x01
        case "sub": 0x02
        case "up": 0x04
        case "avg": 0x08
        case "paeth": 0x10
        // Filters help neither indices nor stored data (PNG 3rd edition, 12.7).
        case "adaptive": isIndexed || effort.isStored ? StillEffort.unfiltered : StillEffort.adaptive
        case let name: throw .invalidArgument("invalid png.filter \(name)")
        }
    }
}
