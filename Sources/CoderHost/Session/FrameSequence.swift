import HostSystem
import ImageModel
import ImageProcessing
import PluginRuntime

/// The frames of an image, raw or composited, with sequential and random access.
///
/// The next frame costs one frame. Any other frame is replayed from the nearest frame that can be rebuilt; frames in
/// between that leave nothing on the canvas are skipped.
final class FrameSequence {
    private let info: ImageInfo
    private let context: SessionContext
    /// Whether the coder reports partial frames.
    private let isIncremental: Bool
    /// Whether the canvas size has no cost until pixels are requested.
    private let costsByPart: Bool
    private let isComplete: () -> Bool
    private let makeDecoder: () throws(CoderError) -> any FrameDecoder
    private var decoderInUse: (any FrameDecoder)?
    private(set) var timeline: FrameTimeline
    private var compositor: FrameCompositor?
    private let pool: PixelBufferPool

    /// The frame that the coder reaches next.
    private var position = 0
    /// The current frame of the coder.
    private var standsAt: Int?
    /// The last frame whose samples the coder has decoded.
    private var lastDecoded: Int?
    /// The next frame that can be drawn on the current canvas; nil if there is none.
    private var follows: Int?
    /// The frame that the canvas shows.
    private var shown: Int?
    /// Whether ``partialImage()`` has returned the complete frame 0.
    private var firstWasGiven = false
    /// Why there are no further frames.
    private(set) var end: End?

    enum End {
        case last
        case failure(CoderError)
    }

    init(
        _ info: ImageInfo, _ decoder: any FrameDecoder, _ context: SessionContext, _ pool: PixelBufferPool,
        isIncremental: Bool, costsByPart: Bool = false,
        isComplete: @escaping () -> Bool,
        makeDecoder: @escaping () throws(CoderError) -> any FrameDecoder
    ) {
        self.info = info
        self.context = context
        self.pool = pool
        self.isIncremental = isIncremental
        self.costsByPart = costsByPart
        self.isComplete = isComplete
        self.makeDecoder = makeDecoder
        decoderInUse = decoder
        timeline = FrameTimeline(canvas: info.size)
    }

    /// Returns the coder's session; opens a new one after a failure, because a failed session only repeats its error.
    func decoder() throws(CoderError) -> any FrameDecoder {
        if let decoderInUse { return decoderInUse }
        let fresh = try makeDecoder()
        decoderInUse = fresh
        position = 0
        standsAt = nil
        lastDecoded = nil
        return fresh
    }

    /// Returns the coder's session for a call that changes its position; without ``takeBack(_:)``, the next call opens
    /// a new one.
    func lendDecoder() throws(CoderError) -> any FrameDecoder {
        let decoder = try decoder()
        decoderInUse = nil
        return decoder
    }

    /// Takes back a session that is at its header again.
    func takeBack(_ decoder: any FrameDecoder) {
        decoderInUse = decoder
        position = 0
        standsAt = nil
        lastDecoded = nil
    }

    /// Makes a call, and discards the coder's session if it fails.
    func attempt<R>(
        _ body: (any FrameDecoder) throws(CoderError) -> R
    ) throws(CoderError) -> R {
        do throws(CoderError) {
            return try body(try decoder())
        } catch {
            if error.code != .needsInput, error.code != .refused { decoderInUse = nil }
            throw error
        }
    }

    // MARK: Finding frames

    /// Finds the next frame; nil after the last one.
    func meetNext() throws(CoderError) -> FrameInfo? {
        switch end {
        case .last: return nil
        case .failure(let error): throw error
        case nil: break
        }
        let wanted = timeline.count
        // Checked before the call, because the last bytes may arrive during it.
        let nothingMoreComes = isComplete()
        _ = try decoder()
        do throws(CoderError) {
            while position <= wanted {
                guard try step() else {
                    end = .last
                    return nil
                }
            }
        } catch {
            // A coder that keeps waiting for input would never finish.
            let error = error.code == .needsInput && nothingMoreComes ? CoderError.truncated() : error
            // Cancellation and timeouts are not errors of the file.
            if ![.needsInput, .cancelled, .deadlineExceeded].contains(error.code), !error.isTransient {
                end = .failure(error)
            }
            throw error
        }
        return timeline[wanted]
    }

    /// Finds frames up to this one; returns false if there are fewer.
    func meet(_ index: Int) throws(CoderError) -> Bool {
        while timeline.count <= index {
            guard try meetNext() != nil else { return false }
        }
        return true
    }

    private func step() throws(CoderError) -> Bool {
        // An endless coder may not poll for cancellation.
        try context.checkCancellation()
        guard let frame = try attempt({ decoder throws(CoderError) in try decoder.nextFrame() }) else { return false }
        guard frame.index == position else {
            throw fault("the plugin returned frame \(frame.index) instead of \(position)")
        }
        if frame.index < timeline.count {
            guard frame == timeline[frame.index] else { throw fault("frame \(frame.index) has changed") }
        } else {
            do throws(CoderError) {
                try examine(frame)
                if !costsByPart {
                    try LimitCheck.examine(frameCount: frame.index + 1, of: info.size, context.limits)
                }
            } catch {
                // The coder is at an unchecked frame, which must not be decoded.
                decoderInUse = nil
                throw error
            }
            timeline.append(frame)
        }
        position += 1
        standsAt = frame.index
        return true
    }

    private func fault(_ message: String) -> CoderError {
        decoderInUse = nil
        return CoderError(.pluginFault, message)
    }

    private func examine(_ frame: FrameInfo) throws(CoderError) {
        let rect = frame.rect
        if rect.isEmpty || costsByPart && PixelRect(info.size).contains(rect) { return }
        guard let area = rect.size.area else { throw fault("frame \(frame.index) covers \(rect)") }
        // A frame may extend beyond the canvas, but its memory depends on its full size.
        let limits = context.limits
        if limits.maxSide > 0, max(rect.width, rect.height) > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: max(rect.width, rect.height))
        }
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        if !PixelRect(info.size).contains(rect) { try LimitCheck.examineBytes(of: rect.size, canvasFormat, limits) }
    }

    // MARK: Positioning

    /// Moves the coder to a known frame, so that it can be decoded.
    func stand(at index: Int) throws(CoderError) {
        _ = try decoder()
        let isIndependent = timeline[index].isIndependent
        let isReady = isIndependent || lastDecoded == index - 1 || lastDecoded == index
        if standsAt == index && isReady { return }
        if index < position || !isReady {
            do throws(CoderError) {
                position = try attempt { decoder throws(CoderError) in try decoder.seek(toFrame: index) }
            } catch {
                // A coder without random access starts again.
                guard error.code == .unsupportedFeature else { throw error }
                decoderInUse = nil
                _ = try decoder()
            }
            standsAt = nil
        }
        while position <= index {
            guard try step() else { throw fault("frame \(index) is missing") }
            if !isIndependent, let standsAt, standsAt < index { try decodeUnseen(timeline[standsAt]) }
        }
    }

    private func decodeUnseen(_ frame: FrameInfo) throws(CoderError) {
        if frame.rect.isEmpty { return }
        let buffer = try pool.take(frame.rect.size, try deliveredFormat(), clean: false)
        _ = try decode(CanvasPlace(buffer))
    }

    func decode(_ place: CanvasPlace, _ request: FrameRequest = FrameRequest()) throws(CoderError) -> FrameOutcome {
        do throws(CoderError) {
            let bytes = compositor?.byteCount(with: place.buffer) ?? place.buffer.byteCount
            let outcome = try context.holding(pixelBytes: bytes) { () throws(CoderError) in
                try attempt { decoder throws(CoderError) in try decoder.decode(request, into: place) }
            }
            if outcome == .complete { lastDecoded = standsAt }
            return outcome
        } catch {
            // If the coder draws incrementally, the surface contains the pixels before the truncation.
            if error.code == .truncated && request.wantsPartial && isIncremental && !place.isBlank {
                return .partial(PixelRect(place.rect.size))
            }
            throw error
        }
    }

    // MARK: Composited frames

    /// The format of the canvas, with the depth of the samples.
    private var canvasFormat: PixelFormat { info.canvasFormat }

    private func deliveredFormat() throws(CoderError) -> PixelFormat {
        let offered = try decoder().pixelFormats()
        return offered.contains(canvasFormat) ? canvasFormat : offered[0]
    }

    /// Returns where drawing starts for frame `index`: on the current canvas, or on an empty one.
    private func way(to index: Int) -> (first: Int, goesOn: Bool) {
        let start = timeline.start(of: index)
        if let follows, follows >= start, follows <= index { return (follows, true) }
        return (start, false)
    }

    /// Returns the first frame whose samples must be decoded for frame `index`.
    private func firstSamples(for index: Int) -> Int {
        var first = index
        while first > 0, !timeline[first].isIndependent, lastDecoded != first - 1, lastDecoded != first { first -= 1 }
        return first
    }

    /// Returns how many frames must be drawn or decoded for known frame `index`.
    func replayCount(of index: Int) -> Int {
        shown == index ? 1 : index - min(way(to: index).first, firstSamples(for: index)) + 1
    }

    /// Draws a known frame with everything below it.
    ///
    /// - Parameter wants: returns whether a frame on the way is passed to `keep`; such frames are drawn even if they
    ///   leave nothing on the canvas.
    func image(
        of index: Int, keeping wants: (Int) -> Bool = { _ in false },
        onTheWay keep: (FrameInfo, PixelBuffer) -> Void = { _, _ in }
    ) throws(CoderError) -> PixelBuffer {
        let compositor = try makeCompositor()
        if shown == index { return compositor.canvas }
        var (first, goesOn) = way(to: index)
        let samples = firstSamples(for: index)
        // If samples must be decoded anyway, the frames can be drawn as well.
        if samples < first, (samples..<first).contains(where: wants) { (first, goesOn) = way(to: samples) }
        let isExact = goesOn || timeline.goesOn(after: index)
        if !goesOn { try compositor.reset() }
        shown = nil
        for earlier in first..<index {
            let frame = timeline[earlier]
            // A frame that depends on an earlier one than the first would be wrong.
            let isKept = (goesOn || timeline.start(of: earlier) >= first) && wants(earlier)
            switch frame.disposal {
            case _ where isKept, .keep: try draw(frame, compositor)
            case .background: try compositor.clearAway(frame)
            case .previous: break
            }
            follows = earlier + 1
            if isKept { keep(frame, compositor.canvas) }
        }
        try draw(timeline[index], compositor)
        shown = index
        follows = isExact ? index + 1 : nil
        return compositor.canvas
    }

    /// Draws the available part of frame 0; nil if there is nothing new.
    func partialImage() throws(CoderError) -> (pixels: PixelBuffer, changed: PixelRect, isComplete: Bool)? {
        let compositor = try makeCompositor()
        if shown == 0 {
            // Another call may have completed the frame.
            if firstWasGiven { return nil }
            firstWasGiven = true
            return (compositor.canvas, PixelRect(info.size), true)
        }
        try stand(at: 0)
        if compositor.place(ofOpenFrame: 0) == nil { try compositor.reset() }
        follows = nil
        let frame = timeline[0]
        var open = compositor.place(ofOpenFrame: 0)
        if open == nil { open = try compositor.begin(frame, format: try deliveredFormat()) }
        follows = 0
        guard let place = open else {
            // The frame covers nothing, so the canvas is the image.
            shown = 0
            follows = 1
            firstWasGiven = true
            return (compositor.canvas, PixelRect(info.size), true)
        }
        switch try decode(place, FrameRequest(wantsPartial: true)) {
        case .complete:
            try compositor.finish()
            shown = 0
            follows = 1
            firstWasGiven = true
            return (compositor.canvas, PixelRect(info.size), true)
        case .partial(var rect):
            // Pixels in the frame's own buffer are not visible yet.
            guard place.buffer === compositor.canvas, !rect.isEmpty else { return nil }
            rect.x += place.rect.x
            rect.y += place.rect.y
            return (compositor.canvas, rect, false)
        }
    }

    private func makeCompositor() throws(CoderError) -> FrameCompositor {
        if let compositor { return compositor }
        try LimitCheck.examine(made: info.size, canvasFormat, context.limits)
        let fresh = try FrameCompositor(size: info.size, format: canvasFormat, pool: pool)
        compositor = fresh
        follows = 0
        return fresh
    }

    private func draw(_ frame: FrameInfo, _ compositor: FrameCompositor) throws(CoderError) {
        do throws(CoderError) {
            try stand(at: frame.index)
            var open = compositor.place(ofOpenFrame: frame.index)
            if open == nil { open = try compositor.begin(frame, format: try deliveredFormat()) }
            guard let place = open else { return }
            switch try decode(place) {
            case .complete: try compositor.finish()
            case .partial: throw isComplete() ? CoderError.truncated() : .needsInput
            }
        } catch {
            if error.code == .needsInput {
                // Drawing continues at the next frame.
                follows = frame.index
            } else {
                compositor.abandon()
                follows = nil
            }
            throw error
        }
    }
}

extension CanvasPlace {
    /// Whether nothing was drawn here: clean buffers contain only zeros.
    fileprivate var isBlank: Bool {
        let bytes = buffer.format.bytesPerPixel
        return (0..<rect.height).allSatisfy { y in
            buffer.withRow(rect.y + y) { row in
                (rect.x * bytes..<(rect.x + rect.width) * bytes).allSatisfy { row.byte(at: $0) == 0 }
            }
        }
    }
}

extension ImageInfo {
    /// The format of composited frames: they always have alpha.
    var canvasFormat: PixelFormat { nativeFormat.bits > 8 ? .rgba16 : .rgba8 }
}
