public import CoderPluginKit
public import ImageModel
import WebPCodec

/// Encodes animated WebP, one frame at a time: finds the changes, codes only these, and writes them at once.
///
/// A frame is held back until the next one arrives, because it may be extended or cleared.
///
/// - Source: RFC 9649.
public final class AWebPEncoder: ImageEncoder {
    private let session: EncoderSession
    private let settings: AWebPSettings
    /// Used if the image is not an animation.
    private var still: WebPEncoder?
    private var target: (info: ImageInfo, sink: ByteSink)?
    private var metadata = AWebPWriter.Metadata()
    private var frames: WebPFrames?
    private var writer: AWebPWriter?
    private var clock = AWebPClock()
    private var pending: AWebPWriter.Frame?
    private var history = History()

    /// The frames so far, as far as they affect the next one.
    private struct History {
        var sinceKey = 0
        var trial = AWebPTrial()
    }

    /// The sides of a VP8 frame have 14 bits.
    ///
    /// - Source: RFC 6386 section 9.1; RFC 9649 section 3.4.
    private static let maxSide = 16_383

    private var info: ImageInfo? { target?.info }

    public init(_ session: EncoderSession) throws(CoderError) {
        self.session = session
        settings = try AWebPSettings(session.options)
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        try WebPEncoder(session).acceptedFormats(for: info)
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        if !info.isAnimated, info.frameCount == 1 {
            let still = try WebPEncoder(session)
            try still.begin(info, to: sink)
            self.still = still
            return
        }
        let size = info.size
        guard !size.isEmpty, max(size.width, size.height) <= Self.maxSide else {
            throw .invalidArgument(
                "a WebP has sides of 1 to \(Self.maxSide) pixels, not \(size)", hint: "scale the image down")
        }
        guard try acceptedFormats(for: info).contains(info.nativeFormat) else {
            throw .invalidArgument("WebP is not encoded from \(info.nativeFormat)")
        }
        // A frame may need alpha although the image is opaque: for the unchanged pixels.
        try session.host.reserve(bytes: WebPFrames.byteCount(size) + WebPCompressor.mostBytes(for: size))
        frames = try WebPFrames(size: size, isExact: settings.isExact, tolerance: settings.tolerance)
        target = (info, sink)
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        if let still { return try still.add(blob) }
        switch blob.kind {
        case .exif:
            // Stores the orientation of the encoded pixels.
            metadata.exif = info?.orientation.map { ExifOrientation.replacing(blob.bytes, with: $0) } ?? blob.bytes
        case .xmp: metadata.xmp = blob.bytes
        case .icc: metadata.profile = blob.bytes
        default: return false
        }
        return true
    }

    // MARK: Frames

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        if let still { return try still.add(frame, pixels: surface) }
        guard let info, let frames, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the frame differs from the header")
        }
        try session.host.checkCancellation()
        try frames.load(surface)
        let milliseconds = clock.milliseconds(frame.duration)
        guard var before = pending else {
            pending = try code(.key(info.size), milliseconds)
            return
        }
        let difference = frames.compare()
        if difference.changed == 0 {
            if AWebPClock.isWhole(frame.duration), before.milliseconds + milliseconds <= AWebPClock.longest {
                before.milliseconds += milliseconds
                pending = before
                return
            }
            // An equal frame, in as few bytes as possible.
            pending = try code(.nothing, milliseconds)
        } else {
            let change = Change(difference, frames, before: before.rect, canvas: info.size, isKey: isKeyDue(difference))
            if change.cleared != nil { before.disposal = .background }
            pending = try code(change, milliseconds)
        }
        try write(before)
    }

    public func finish() throws(CoderError) {
        if let still { return try still.finish() }
        guard let pending, let (info, sink) = target else { throw CoderError(.misuse, "no frame was added") }
        self.pending = nil
        if writer != nil {
            try write(pending)
            try writer?.finish()
            warnOfTime()
        } else {
            // A still stores no duration.
            var writer = AWebPWriter(sink, canvas: info.size, metadata: metadata)
            try writer.writeStill(pending)
            if info.isAnimated {
                session.host.warn("a single frame is written as a still, without duration and loop count")
            }
        }
    }

    private func warnOfTime() {
        if !clock.isExact { session.host.warn("durations were rounded to milliseconds, the unit of WebP") }
        if clock.hasCut {
            session.host.warn("WebP shows a frame for at most 16777.215 s: a longer duration was cut")
        }
    }

    private func write(_ frame: AWebPWriter.Frame) throws(CoderError) {
        guard let (info, sink) = target else { return }
        if writer == nil {
            writer = AWebPWriter(sink, canvas: info.size, metadata: metadata)
            try writer?.begin(loopCount: storedLoopCount(info.loopCount))
        }
        try writer?.add(frame)
    }

    /// The number of plays; 0 is infinite.
    ///
    /// - Source: RFC 9649 section 2.7.1 ("ANIM"): 16 bits.
    private func storedLoopCount(_ count: LoopCount) -> Int {
        if count.plays > 0xFFFF { session.host.warn("WebP cannot play an animation more than 65535 times") }
        return min(max(0, count.plays), 0xFFFF)
    }

    // MARK: Coded part

    private func isKeyDue(_ difference: WebPFrames.Difference) -> Bool {
        guard let canvas = info?.size else { return false }
        if settings.mostBetweenKeys > 0, history.sinceKey + 1 >= settings.mostBetweenKeys { return true }
        return settings.leastBetweenKeys > 0 && history.sinceKey + 1 >= settings.leastBetweenKeys
            && difference.rect == PixelRect(canvas) && difference.changed * 2 >= canvas.area ?? 0
    }

    /// The coded part of an image, and how it is drawn on the canvas.
    struct Change {
        var rect: PixelRect
        /// The rectangle that the disposal of the frame before makes transparent.
        var cleared: PixelRect?
        var blend = Blend.source

        static func key(_ canvas: PixelSize) -> Change { Change(rect: PixelRect(canvas)) }
        static let nothing = Change(rect: PixelRect(PixelSize(1, 1)), blend: .over)

        private init(rect: PixelRect, blend: Blend = .source) {
            self.rect = rect
            self.blend = blend
        }

        init(
            _ difference: WebPFrames.Difference, _ frames: WebPFrames, before: PixelRect, canvas: PixelSize, isKey: Bool
        ) {
            rect = PixelRect(canvas)
            if isKey { return }
            var best = difference
            if difference.hasTranslucent {
                // Blending cannot make pixels transparent; clearing the frame before may leave fewer pixels to code.
                let other = frames.compare(clearing: before)
                if Self.cost(other) < Self.cost(difference) {
                    best = other
                    cleared = before
                }
            }
            rect = best.changed == 0 ? Self.nothing.rect : Self.even(best.rect)
            let area = rect.width * rect.height
            // If nearly all pixels change, holes cost more than they save.
            if !best.hasTranslucent, best.changed * 10 < area * 9 { blend = .over }
        }

        /// The approximate number of pixels to code.
        private static func cost(_ difference: WebPFrames.Difference) -> Int {
            difference.hasTranslucent ? difference.rect.width * difference.rect.height : difference.changed
        }

        /// Returns the rectangle extended to even coordinates, as the format requires.
        private static func even(_ rect: PixelRect) -> PixelRect {
            PixelRect(
                x: rect.x & ~1, y: rect.y & ~1, width: rect.width + (rect.x & 1), height: rect.height + (rect.y & 1))
        }
    }

    private func code(_ change: Change, _ milliseconds: Int) throws(CoderError) -> AWebPWriter.Frame {
        guard let frames, let canvas = info?.size else { throw CoderError(.misuse, "no image was begun") }
        // A part with only holes is best coded lossless.
        let mustBeLossless = settings.kind == .lossless || change.rect == Change.nothing.rect
        var chosen = try encode(change, frames, isLossless: mustBeLossless)
        if !mustBeLossless, history.trial.isDue(settings.kind, frames) {
            let lossless = try encode(change, frames, isLossless: true)
            history.trial.note(lossless: lossless.count, lossy: chosen.count)
            if lossless.count <= chosen.count {
                chosen = lossless
            } else {
                // The canvas continues with the part that is written.
                cut(change, frames, isLossless: false)
            }
        }
        frames.show(clearing: change.cleared)
        let isKey = change.rect == PixelRect(canvas) && change.blend == .source
        history.sinceKey = isKey ? 0 : history.sinceKey + 1
        return AWebPWriter.Frame(
            chunks: chosen, hasAlpha: Self.hasAlpha(chosen), rect: change.rect, milliseconds: milliseconds,
            blend: change.blend)
    }

    private func cut(_ change: Change, _ frames: WebPFrames, isLossless: Bool) {
        let unchanged: WebPFrames.Unchanged =
            change.blend == .source ? .kept : isLossless ? .transparent : .transparentBlocks
        _ = frames.cut(change.rect, clearing: change.cleared, unchanged: unchanged)
    }

    /// Returns the chunks of the changed part.
    private func encode(_ change: Change, _ frames: WebPFrames, isLossless: Bool) throws(CoderError) -> [UInt8] {
        cut(change, frames, isLossless: isLossless)
        let output = ByteSink()
        let compressor = try WebPCompressor(output, session.host)
        var options = settings.options
        options[OptionKey.lossless] = .bool(isLossless)
        try WebPEncoder.configure(compressor, options, maxThreads: session.limits.maxThreads)
        try frames.encode(with: compressor)
        // The library writes a file: its header and the chunk that describes the canvas are removed.
        let isExtended = output.written.dropFirst(12).starts(with: AWebPChunk.Tag.extended.bytes)
        return Array(output.written.dropFirst(isExtended ? 12 + 18 : 12))
    }

    private static func hasAlpha(_ chunks: [UInt8]) -> Bool {
        if chunks.starts(with: AWebPChunk.Tag.alpha.bytes) { return true }
        return chunks.starts(with: AWebPChunk.Tag.lossless.bytes) && chunks.count > 12 && chunks[12] & 0x10 != 0
    }
}
