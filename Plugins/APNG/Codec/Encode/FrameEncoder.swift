internal import CoderPluginKit
internal import ImageModel
internal import PNGCodec

/// Compresses parts of canvases in the current sample format of the file.
final class FrameEncoder {
    private let host: HostServices
    private let effort: EncodingEffort
    private let compressor: RowCompressor
    /// Whether the caller declares every pixel opaque.
    let isOpaque: Bool
    /// Whether the input has no alpha, so that no pixel needs a check.
    let isSurelyOpaque: Bool
    private(set) var layout: RowCompressor.Layout
    private(set) var palette: GrowingPalette?

    init(
        _ info: ImageInfo, effort: EncodingEffort, palette: GrowingPalette?, host: HostServices
    ) throws(CoderError) {
        self.host = host
        self.effort = effort
        self.palette = palette
        let format = info.nativeFormat
        isSurelyOpaque = !format.hasTransparency
        isOpaque = isSurelyOpaque || !info.hasAlpha
        let isColor = format.channels == .rgb || format.channels == .rgba
        trueColor = RowCompressor.Layout(
            colorType: (isColor ? 2 : 0) | (isOpaque ? 0 : 4), depth: format.bits)
        layout = palette == nil ? trueColor : RowCompressor.Layout(colorType: 3, depth: 8)
        compressor = try RowCompressor()
    }

    private var trueColor: RowCompressor.Layout

    /// Whether the file can have transparent pixels; with a palette only if it has room for one.
    ///
    /// ffmpeg 5.1 does not draw 16-bit frames over another frame.
    var canHaveHoles: Bool { palette?.hasHole ?? (layout.hasAlpha && layout.depth == 8) }

    /// Compresses several plans, one after another, in `surface`.
    func encode(_ plan: FramePlan, of surface: borrowing Surface) throws(CoderError) -> [UInt8] {
        try run(plan, of: surface, effort.final(filters: plan.filters)) { _ throws(CoderError) in }
        return compressor.take()
    }

    /// Compresses a plan and passes the bytes on as they are produced.
    func encode(
        _ plan: FramePlan, of surface: borrowing Surface, _ body: ([UInt8]) throws(CoderError) -> Void
    ) throws(CoderError) {
        var bytes: [UInt8] = []
        try run(plan, of: surface, effort.final(filters: plan.filters)) { compressor throws(CoderError) in
            bytes += compressor.take()
            if bytes.count < 1 << 16 { return }
            try body(bytes)
            bytes = []
        }
        try body(bytes + compressor.take())
    }

    /// Estimates the length of the plan's stream.
    func measure(_ plan: FramePlan, of surface: borrowing Surface) throws(CoderError) -> Int {
        try run(plan, of: surface, effort.trial(filters: plan.filters)) { _ throws(CoderError) in }
        return compressor.length
    }

    private func run(
        _ plan: FramePlan, of surface: borrowing Surface, _ effort: RowCompressor.Effort,
        _ body: (RowCompressor) throws(CoderError) -> Void
    ) throws(CoderError) {
        try compressor.start(
            width: plan.rect.width, format: surface.format, isOpaque: isSurelyOpaque, layout: layout, palette: palette,
            effort: effort)
        let end = plan.rect.y + plan.rect.height
        for first in stride(from: plan.rect.y, to: end, by: 64) {
            try host.checkCancellation()
            let rows = first..<min(first + 64, end)
            try compressor.push(surface, x: plan.rect.x, rows: rows, base: plan.hasHoles ? plan.base : nil)
            if !effort.isTrial { host.progress(rows.upperBound - plan.rect.y, of: plan.rect.height) }
            try body(compressor)
        }
        try compressor.finish()
    }

    // MARK: Sample formats

    /// Gives the file an alpha channel, so that frames can have holes.
    func addAlpha() {
        trueColor.colorType |= 4
        layout = trueColor
    }

    func removeAlpha() {
        trueColor.colorType &= ~4
        layout = trueColor
    }

    /// Drops the palette and returns it; the caller converts the frames that use it.
    func leavePalette(hasHoles: Bool) -> [UInt8] {
        let entries = palette?.entries ?? []
        if hasHoles { trueColor.colorType |= 4 }
        palette = nil
        layout = trueColor
        return entries
    }

    /// Uses the fewest bits for an index, now that the number of colors is known.
    ///
    /// Only for a still: ffmpeg 5.1 unpacks the indices of a frame as if the frame were as large as the canvas.
    func shrinkIndices() {
        if let palette { layout.depth = palette.depth }
    }

    /// Converts a frame of indices into `entries` to the current sample format of the file.
    func convert(_ frame: EncodedFrame, from entries: [UInt8]) throws(CoderError) -> [UInt8] {
        let filters = layout.isIndexed ? EncodingEffort.unfiltered : EncodingEffort.adaptive
        try compressor.start(
            width: frame.rect.width, format: .rgba8, isOpaque: false, layout: layout, palette: palette,
            effort: effort.final(filters: filters))
        try IndexExpander.expand(
            frame.data, size: frame.rect.size, palette: entries, host: host
        ) { surface, rows throws(CoderError) in
            try compressor.push(surface, x: 0, rows: 0..<rows, base: nil)
        }
        try compressor.finish()
        return compressor.take()
    }
}
