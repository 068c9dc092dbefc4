public import CoderPluginKit
public import ImageModel
internal import PNGCodec

/// Encodes APNG, one frame at a time; writes only the changed part of each frame.
public final class APNGEncoder: ImageEncoder {
    private let session: EncoderSession
    private let effort: EncodingEffort
    private var info: ImageInfo?
    private var blobs: [MetadataBlob] = []
    private var queue: FrameQueue?
    private var encoder: FrameEncoder?
    private var history: CanvasHistory
    private var delays = DelayFitter()
    private var sink: ByteSink?
    private var output = Output()

    /// The state of the file.
    private struct Output {
        /// The number of frames that the host added.
        var frameCount = 0
        var isAnimation = false
        /// Whether the encoder writes the palette again at the end.
        var hasReservedPalette = false
    }

    public init(_ session: EncoderSession) throws(CoderError) {
        self.session = session
        effort = try EncodingEffort(session.options)
        history = CanvasHistory(host: session.host)
        guard ["auto", "never", "always"].contains(paletteMode) else {
            throw .invalidArgument("invalid apng.palette \(paletteMode)")
        }
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        let isGray = native.channels == .gray || native.channels == .grayAlpha
        var formats = Self.takes(native) ? [native] : []
        for bits in native.bits > 8 ? [16, 8] : [8] {
            let hasAlpha = native.hasTransparency
            if isGray { formats.append(PixelFormat(hasAlpha ? .grayAlpha : .gray, bits: bits)) }
            formats.append(PixelFormat(hasAlpha ? .rgba : .rgb, bits: bits))
            formats.append(PixelFormat(.rgba, bits: bits))
        }
        return formats.enumerated().filter { formats.firstIndex(of: $0.element) == $0.offset }.map(\.element)
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard !info.size.isEmpty, info.size.width <= Int32.max, info.size.height <= Int32.max else {
            throw .invalidArgument("APNG cannot hold an image of \(info.size) pixels")
        }
        guard Self.takes(info.nativeFormat) else {
            throw CoderError(.misuse, "the encoder did not offer this pixel format")
        }
        self.info = info
        self.sink = sink
        queue = FrameQueue(sink, host: session.host)
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard let info, PNGPreamble.carries(blob, of: info) else { return false }
        blobs.append(blob)
        return true
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let queue, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the image")
        }
        let (delay, isExact) = delays.fit(frame.duration)
        defer { output.frameCount += 1 }
        guard let encoder else { return try addFirst(surface, delay, info, queue) }
        guard let shown = history.shown, let last = queue.frames.last else {
            throw CoderError(.misuse, "more than one frame for an image declared as a still")
        }
        if let rect = try FrameDifference.rect(of: surface, from: shown, host: session.host) {
            try add(surface, changed: rect, after: last, delay, encoder, queue)
        } else if isExact, let sum = last.delay.adding(delay) {
            queue.updateLast { $0.delay = sum }
        } else {
            let pixel = PixelRect(x: 0, y: 0, width: 1, height: 1)
            try add(surface, changed: pixel, after: last, delay, encoder, queue)
        }
    }

    public func finish() throws(CoderError) {
        guard let info, let queue, let encoder, output.frameCount > 0 else {
            throw CoderError(.misuse, "the image has no frame")
        }
        if !queue.isOpen {
            if queue.frames.count == 1, let entries = encoder.palette?.entries {
                encoder.shrinkIndices()
                try queue.replace(0, data: encoder.convert(queue.frames[0], from: entries))
            }
            try open(queue, encoder, info, isAnimated: queue.frames.count > 1)
        }
        try queue.finish()
        if output.isAnimation {
            warnOfTime()
        } else if info.isAnimated {
            session.host.warn("a single frame is written as a still, without duration and loop count")
        }
        if output.hasReservedPalette {
            // Now with the colors that were added after the first frames were written.
            try sink?.overwrite(preamble(encoder, info, isReserved: true, host: HostServices()), at: 0)
        }
        history.close()
    }

    // MARK: Frames

    private func addFirst(
        _ surface: borrowing Surface, _ delay: FrameDelay, _ info: ImageInfo, _ queue: FrameQueue
    ) throws(CoderError) {
        let isAlone = info.frameCount == 1
        var palette: GrowingPalette?
        let canvas = PixelRect(info.size)
        if paletteMode != "never", info.nativeFormat.bits == 8, info.nativeFormat.channels.count > 2 {
            let colors = try GrowingPalette(hasHole: !isAlone)
            let isOpaque = !info.nativeFormat.hasTransparency
            if try colors.add(surface, canvas, isOpaque: isOpaque, host: session.host) { palette = colors }
        }
        if palette == nil, paletteMode == "always" { throw Self.tooManyColors }
        let encoder = try FrameEncoder(info, effort: effort, palette: palette, host: session.host)
        self.encoder = encoder
        if isAlone { encoder.shrinkIndices() }
        let plan = FramePlan(disposal: .keep, base: nil, rect: canvas, hasHoles: false, filters: 0)
        let ways = planner(encoder, info, canHaveHoles: false).ways(plan)
        guard isAlone else {
            let data = try best(ways, of: surface, encoder).data
            try queue.append(EncodedFrame(rect: canvas, delay: delay, blend: .source, data: data))
            return try history.advance(to: surface, drawnOn: nil)
        }
        // A still is written to the file while it is compressed.
        try open(queue, encoder, info, isAnimated: false)
        let way = try ranked(ways, of: surface, encoder)[0]
        try encoder.encode(way, of: surface) { bytes throws(CoderError) in try queue.write(imageData: bytes) }
    }

    private func add(
        _ surface: borrowing Surface, changed rect: PixelRect, after last: EncodedFrame, _ delay: FrameDelay,
        _ encoder: FrameEncoder, _ queue: FrameQueue
    ) throws(CoderError) {
        guard let info else { return }
        if let palette = encoder.palette,
            try !palette.add(surface, rect, isOpaque: encoder.isSurelyOpaque, host: session.host)
        {
            if paletteMode == "always" { throw Self.tooManyColors }
            try leavePalette(encoder, info, queue)
        }
        if !queue.isOpen, encoder.palette == nil {
            try considerAlpha(surface, changed: rect, encoder, queue)
            try open(queue, encoder, info, isAnimated: true)
        }
        let planner = planner(encoder, info, canHaveHoles: encoder.canHaveHoles)
        let plans = try planner.plans(to: surface, changed: rect, after: last, history: history)
        let (plan, data) = try best(plans, of: surface, encoder)
        if plan.hasHoles { encoder.palette?.keepHole() }
        queue.updateLast { $0.disposal = plan.disposal }
        try queue.append(EncodedFrame(rect: plan.rect, delay: delay, blend: plan.blend, data: data))
        try history.advance(to: surface, drawnOn: plan.base)
        if !queue.isOpen, queue.heldBytes > FrameQueue.window {
            // Too much memory to keep waiting. Only `always` promises that no more colors come.
            guard paletteMode == "always" else { return try leavePalette(encoder, info, queue) }
            output.hasReservedPalette = true
            try open(queue, encoder, info, isAnimated: true)
        }
    }

    /// Converts the waiting frames to true color, and writes those that need not wait any longer.
    private func leavePalette(
        _ encoder: FrameEncoder, _ info: ImageInfo, _ queue: FrameQueue
    ) throws(CoderError) {
        let entries = encoder.leavePalette(hasHoles: queue.frames.contains { $0.blend == .over })
        if queue.frames.count == 1 {
            return try queue.replace(0, data: encoder.convert(queue.frames[0], from: entries))
        }
        try open(queue, encoder, info, isAnimated: true) { frame throws(CoderError) in
            try encoder.convert(frame, from: entries)
        }
    }

    /// Where most pixels between the changes stay, an alpha channel can be smaller than painting them again.
    private func considerAlpha(
        _ surface: borrowing Surface, changed rect: PixelRect, _ encoder: FrameEncoder, _ queue: FrameQueue
    ) throws(CoderError) {
        guard !encoder.layout.hasAlpha, encoder.layout.depth == 8, queue.frames.count == 1, let shown = history.shown
        else { return }
        let coverage = try FrameDifference.coverage(of: surface, from: shown, in: rect, host: session.host)
        guard coverage.isChangedOpaque, coverage.unchanged > coverage.changed else { return }
        var plan = FramePlan(
            disposal: .keep, base: shown, rect: rect, hasHoles: false, filters: EncodingEffort.adaptive)
        let whole = try encoder.measure(plan, of: surface)
        encoder.addAlpha()
        plan.hasHoles = true
        plan.filters = EncodingEffort.unfiltered
        guard try encoder.measure(plan, of: surface) < whole / 8 * 7 else { return encoder.removeAlpha() }
        let first = FramePlan(
            disposal: .keep, base: nil, rect: queue.frames[0].rect, hasHoles: false, filters: EncodingEffort.adaptive)
        try queue.replace(0, data: best([first], of: Surface(shown), encoder).data)
    }

    // MARK: Choices

    /// Returns the shortest stream of several plans.
    private func best(
        _ plans: [FramePlan], of surface: borrowing Surface, _ encoder: FrameEncoder
    ) throws(CoderError) -> (plan: FramePlan, data: [UInt8]) {
        let ranked = try ranked(plans, of: surface, encoder)
        var best = (plan: ranked[0], data: try encoder.encode(ranked[0], of: surface))
        for plan in ranked.dropFirst().prefix(effort.finalists - 1) {
            let data = try encoder.encode(plan, of: surface)
            if data.count < best.data.count { best = (plan, data) }
        }
        return best
    }

    /// Returns the plans, likely the best first.
    private func ranked(
        _ plans: [FramePlan], of surface: borrowing Surface, _ encoder: FrameEncoder
    ) throws(CoderError) -> [FramePlan] {
        guard effort.comparesByTrial else {
            return plans.sorted { ($0.area, $0.hasHoles ? 0 : 1) < ($1.area, $1.hasHoles ? 0 : 1) }
        }
        if plans.count == 1, encoder.layout.isIndexed { return plans }
        var costs: [(plan: FramePlan, cost: Int)] = []
        for plan in plans { costs.append((plan, try encoder.measure(plan, of: surface))) }
        costs.sort { $0.cost < $1.cost }
        if !encoder.layout.isIndexed, effort.comparesOtherFilters, !effort.comparesAllFilters, let info {
            let other = planner(encoder, info, canHaveHoles: false).otherFilters(costs[0].plan)
            let cost = try encoder.measure(other, of: surface)
            if cost < costs[0].cost { costs.insert((other, cost), at: 0) }
        }
        return costs.map(\.plan)
    }

    private func planner(_ encoder: FrameEncoder, _ info: ImageInfo, canHaveHoles: Bool) -> FramePlanner {
        FramePlanner(
            host: session.host, effort: effort, canHaveHoles: canHaveHoles, isTransparent: !encoder.isOpaque,
            isIndexed: encoder.layout.isIndexed)
    }

    // MARK: The file

    private func open(
        _ queue: FrameQueue, _ encoder: FrameEncoder, _ info: ImageInfo, isAnimated: Bool,
        converting convert: ((EncodedFrame) throws(CoderError) -> [UInt8])? = nil
    ) throws(CoderError) {
        if isAnimated, sink?.isSeekable != true {
            throw CoderError(.misuse, "an APNG animation needs a seekable output")
        }
        output.isAnimation = isAnimated
        let bytes = try preamble(encoder, info, isReserved: output.hasReservedPalette, host: session.host)
        try queue.open(bytes, plays: isAnimated ? plays(info.loopCount) : nil, converting: convert)
    }

    private func preamble(
        _ encoder: FrameEncoder, _ info: ImageInfo, isReserved: Bool, host: HostServices
    ) throws(CoderError) -> [UInt8] {
        var entries = encoder.palette?.entries
        if isReserved, let known = entries { entries = known + [UInt8](repeating: 0xFF, count: 1024 - known.count) }
        return try PNGPreamble.bytes(
            info, depth: encoder.layout.depth, colorType: encoder.layout.colorType, palette: entries,
            transparent: isReserved ? 256 : nil, blobs: blobs, host: host)
    }

    private func plays(_ count: LoopCount) -> UInt32 {
        let plays = count.plays
        // The largest PNG integer (3rd edition, 7.1).
        if plays > Int(Int32.max) { session.host.warn("APNG cannot be played more than \(Int32.max) times") }
        return UInt32(min(max(plays, 0), Int(Int32.max)))
    }

    private var paletteMode: String { session.options.string("apng.palette") ?? "auto" }

    private func warnOfTime() {
        if delays.hasRounded {
            session.host.warn("a duration was rounded: APNG stores it as a fraction of two 16-bit numbers")
        }
        if delays.hasCut { session.host.warn("APNG shows a frame for at most 65535 s: a longer duration was cut") }
    }

    private static var tooManyColors: CoderError {
        .unsupported("more than 256 colors in a palette")
    }

    private static func takes(_ format: PixelFormat) -> Bool {
        guard format.numeric == .unorm, format.alpha != .premultiplied else { return false }
        return switch format.channels {
        case .gray, .grayAlpha, .rgb, .rgba: true
        case .bgra, .cmyk: false
        }
    }
}
