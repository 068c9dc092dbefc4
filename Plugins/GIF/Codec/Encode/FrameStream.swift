internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Writes frames one after another, each as the rectangle that changes.
struct FrameStream {
    private let settings: GIFSettings
    private let info: ImageInfo
    private let extensions: [UInt8]
    private var output: GIFOutput
    private let host: HostServices
    private let packer = LZWPacker()
    private var chooser: PaletteChooser
    private var shared = SharedPalette()
    /// Nil if distances are measured in RGB.
    private var keys: FrameKeys?
    /// Whether the viewer's canvas equals the source exactly.
    private var isExact = true

    /// The palette of the whole file.
    private struct SharedPalette {
        /// Nil before the first frame.
        var table: ColorTable?
        /// The number of colors for which it has room.
        var capacity = 0
    }

    init(_ settings: GIFSettings, _ info: ImageInfo, extensions: [UInt8], sink: ByteSink, host: HostServices) {
        self.settings = settings
        self.info = info
        self.extensions = extensions
        output = GIFOutput(sink, host)
        self.host = host
        chooser = PaletteChooser(settings)
    }

    /// Writes `canvas.source`, and updates `shown` and `prior` for the next frame.
    ///
    /// - Returns: whether `prior` is now that frame.
    mutating func encode(_ canvas: inout FrameCanvas, delay: Int, hasNext: Bool) throws(CoderError) -> Bool {
        let isFirst = shared.table == nil
        if !isExact, settings.palette != .global, canvas.hasFewColors(limit: min(settings.colors, 255)) {
            canvas.prior = canvas.shown
            canvas.knownChange = nil
            isExact = true
        }
        let changed =
            isFirst ? canvas.whole : canvas.knownChange ?? canvas.difference(canvas.source, canvas.prior)
        let chosen =
            hasNext
            ? canvas.chooseDisposal(changed, mayRestore: delay <= GIFOutput.longestDelay) : FrameDisposal()
        // The rectangle must include the pixels that the disposal clears.
        guard let rect = ChangedRect.union(changed, chosen.cleared) else {
            try output.lengthen(by: delay, skip: shared.table?.transparentIndex, packer)
            swap(&canvas.prior, &canvas.source)
            return true
        }
        let isStill = isFirst && !hasNext
        let dither = settings.dither == .auto ? (isStill ? .diffusion : .none) : settings.dither
        chooser.isTolerant = dither == .none
        var palette: FramePalette
        if let global = shared.table, settings.palette != .local, isExact,
            let table = chooser.grown(global, for: canvas, in: rect, capacity: shared.capacity)
        {
            palette = FramePalette(table: table, isGlobal: true)
        } else {
            palette = chooser.palette(
                for: canvas, in: rect, global: shared.table, capacity: shared.capacity, hasLater: hasNext,
                isExact: isExact)
        }
        // Without a transparent index, a later frame must draw the exact colors of its unchanged pixels.
        if settings.lossy > 0, isFirst || palette.table.transparentIndex != nil {
            let metric = settings.distance.metric
            palette.allow(settings.allowedError(metric), metric)
        }
        var drawn: ChangedRect? = rect
        if let nearest = palette.nearest {
            let skip = palette.table.transparentIndex ?? 0
            isExact = false
            switch dither {
            case .ordered:
                FrameIndexer.ordered(&canvas, in: rect, nearest, skip: skip, strength: palette.spacing)
            case .diffusion: FrameIndexer.diffusion(&canvas, in: rect, nearest, skip: skip)
            case .none, .auto:
                if settings.distance != .rgb {
                    if keys == nil { keys = FrameKeys(canvas) }
                    keys?.measure(canvas, in: rect, settings.distance.metric)
                }
                drawn = FrameIndexer.nearest(
                    &canvas, in: rect, nearest, keys, skip: skip, tolerance: isFirst ? 0 : palette.tolerance)
                drawn = isFirst ? rect : ChangedRect.union(drawn, chosen.cleared)
            }
        } else {
            FrameIndexer.exact(&canvas, in: rect, palette.table)
        }
        if isFirst { try start(palette.table, isStill: isStill) }
        if palette.isGlobal { shared.table = palette.table }
        guard let drawn else {
            try output.lengthen(by: delay, skip: shared.table?.transparentIndex, packer)
            if chosen.disposal != .keep { return false }
            swap(&canvas.prior, &canvas.source)
            return true
        }
        let symbols = try write(drawn, palette, canvas, delay: delay, chosen.disposal, isStill: isStill)
        guard hasNext else { return true }
        switch chosen.disposal {
        case .keep: canvas.settle(drawn, symbols, palette.table)
        case .background:
            canvas.settle(drawn, symbols, palette.table)
            canvas.clear(drawn)
        // The disposal restores the earlier canvas.
        case .previous: break
        }
        return chosen.disposal == .keep
    }

    /// Writes the colors of later frames into the global palette.
    func end() throws(CoderError) {
        if let global = shared.table, shared.capacity > 0 { try output.end(global) }
    }

    // MARK: Parts

    private mutating func start(_ table: ColorTable, isStill: Bool) throws(CoderError) {
        var bits = FramePalette.bits(table.colors.count)
        // Later frames can add colors to the file's palette if the encoder can fill it in at the end.
        if !isStill, output.isSeekable, settings.palette != .local {
            let most = FramePalette.bits(min(256, settings.colors + 1))
            // A frame of a few colors, such as a blank one, does not predict the next frame. But a small image should
            // not become
            // much larger for it.
            let isSmall = info.size.width * info.size.height < 1 << 14
            let count = table.colors.count
            bits = count > 32 || isSmall ? max(bits, min(most, FramePalette.bits(2 * count))) : most
            shared.capacity = min(1 << bits, settings.colors + 1)
        }
        var plays: Int?
        switch info.loopCount {
        case .infinite: plays = 0
        case .plays(let count) where count > 1: plays = count
        case .plays, .unknown: plays = nil
        }
        if let count = plays, count > 0x1_0000 {
            host.warn("GIF cannot repeat an image more than 65535 times")
            plays = 0x1_0000
        }
        try output.start(info, table, bits: bits, plays: plays)
        try output.write(extensions)
    }

    /// Writes a frame and returns its final indices.
    private mutating func write(
        _ rect: ChangedRect, _ palette: FramePalette, _ canvas: FrameCanvas, delay: Int, _ disposal: Disposal,
        isStill: Bool
    ) throws(CoderError) -> [UInt8] {
        let left = try output.begin(rect, palette, delay: delay, disposal)
        var symbols: [UInt8] = []
        symbols.reserveCapacity(rect.width * rect.height)
        for y in rect.rows {
            symbols += canvas.indices[canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y)]
        }
        let bits = max(2, FramePalette.bits(Int(symbols.max() ?? 0) + 1))
        let isLossy = palette.tolerance > 0
        let choices = PixelChoices(
            source: canvas.source, prior: canvas.prior, shown: canvas.shown,
            keys: PixelChoices.Keys(source: keys?.source ?? canvas.source, shown: keys?.shown ?? canvas.shown),
            table: palette.table, nearest: isLossy ? palette.nearest : nil,
            tolerance: palette.tolerance, indexLimit: 1 << bits, rect: rect, canvasWidth: canvas.width)
        let packing = FramePacking(packer: packer, choices: choices, bits: bits, host: host)
        choices.closeGaps(&symbols)
        if isStill || palette.meanError >= 1 {
            try packing.pack(&symbols, isLossy ? .restless : .hasty) { bytes throws(CoderError) in
                try output.write(bytes)
            }
        } else {
            try output.write(packing.smallest(&symbols))
        }
        if left > 0 { try output.hold(left, rect, disposal, skip: shared.table?.transparentIndex, packer) }
        return symbols
    }
}
