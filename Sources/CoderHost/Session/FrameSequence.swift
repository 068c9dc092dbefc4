import ImageModel
import ImageProcessing

/// The frames of one picture, raw or composited, in order or at random.
///
/// Going on costs one frame. Any other frame is replayed from the nearest one that can be rebuilt by itself; frames in
/// between that leave nothing behind are skipped.
final class FrameSequence {
    private let info: ImageInfo
    private let context: SessionContext
    /// Whether the coder shows parts of a frame.
    private let isIncremental: Bool
    /// Whether the size of the canvas costs nothing until pixels are asked for.
    private let costsByPart: Bool
    private let isComplete: () -> Bool
    private let makeDecoder: () throws(CoderError) -> any FrameDecoder
    private var decoderInUse: (any FrameDecoder)?
    private(set) var timeline: FrameTimeline
    private var compositor: FrameCompositor?
    private let pool: PixelBufferPool

    /// The frame that the coder steps to next.
    private var position = 0
    /// The frame that it stands at.
    private var standsAt: Int?
    /// The last frame whose samples the coder has seen.
    private var lastDecoded: Int?
    /// The frame that can be drawn on the canvas as it is; nil: none.
    private var follows: Int?
    /// The frame that the canvas shows.
    private var shown: Int?
    /// Whether ``partialPicture()`` has answered the whole of frame 0.
    private var firstWasGiven = false
    /// Why there are no frames behind those that were met.
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

    /// The coder's session; a new one after the last one failed, because a failed one only repeats its error.
    func decoder() throws(CoderError) -> any FrameDecoder {
        if let decoderInUse { return decoderInUse }
        let fresh = try makeDecoder()
        decoderInUse = fresh
        position = 0
        standsAt = nil
        lastDecoded = nil
        return fresh
    }

    /// Hands out the coder's session for a call that leaves its place in the sequence; without ``takeBack(_:)`` the next call
    /// opens a new one.
    func lendDecoder() throws(CoderError) -> any FrameDecoder {
        let decoder = try decoder()
        decoderInUse = nil
        return decoder
    }

    /// Takes back a session that stands at its header again.
    func takeBack(_ decoder: any FrameDecoder) {
        decoderInUse = decoder
        position = 0
        standsAt = nil
        lastDecoded = nil
    }

    /// Makes a call that may fail, and gives up the coder's session if it does.
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

    // MARK: Meeting frames

    /// Meets the next frame; nil behind the last.
    func meetNext() throws(CoderError) -> FrameInfo? {
        switch end {
        case .last: return nil
        case .failure(let error): throw error
        case nil: break
        }
        let wanted = timeline.count
        // Asked in advance: the last bytes may arrive while the coder looks.
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
            // A coder that goes on waiting would never come to an end.
            let error = error.code == .needsInput && nothingMoreComes ? CoderError.truncated() : error
            // What was asked of it is no fault of the file.
            if ![.needsInput, .cancelled, .deadlineExceeded].contains(error.code), !error.isPassing {
                end = .failure(error)
            }
            throw error
        }
        return timeline[wanted]
    }

    /// Meets frames up to this one; false when there are fewer.
    func meet(_ index: Int) throws(CoderError) -> Bool {
        while timeline.count <= index {
            guard try meetNext() != nil else { return false }
        }
        return true
    }

    private func step() throws(CoderError) -> Bool {
        // A coder that is never done need not ask whether to go on.
        try context.checkCancellation()
        guard let frame = try attempt({ decoder throws(CoderError) in try decoder.nextFrame() }) else { return false }
        guard frame.index == position else {
            throw fault("frame \(frame.index) comes where \(position) should")
        }
        if frame.index < timeline.count {
            guard frame == timeline[frame.index] else { throw fault("frame \(frame.index) is another one now") }
        } else {
            do throws(CoderError) {
                try examine(frame)
                if !costsByPart {
                    try LimitCheck.examine(frameCount: frame.index + 1, of: info.size, context.limits)
                }
            } catch {
                // The coder stands at a frame that is not met: nothing must be decoded from there.
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
        // A frame may reach over the canvas, but it costs memory as large as it is.
        let limits = context.limits
        if limits.maxSide > 0, max(rect.width, rect.height) > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: max(rect.width, rect.height))
        }
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        if !PixelRect(info.size).contains(rect) { try LimitCheck.examineBytes(of: rect.size, canvasFormat, limits) }
    }

    // MARK: Standing at a frame

    /// Goes to a frame that was met, so that it can be decoded.
    func stand(at index: Int) throws(CoderError) {
        _ = try decoder()
        let isIndependent = timeline[index].isIndependent
        let isReady = isIndependent || lastDecoded == index - 1 || lastDecoded == index
        if standsAt == index && isReady { return }
        if index < position || !isReady {
            do throws(CoderError) {
                position = try attempt { decoder throws(CoderError) in try decoder.seek(toFrame: index) }
            } catch {
                // A coder without random access begins again.
                guard error.code == .unsupportedFeature else { throw error }
                decoderInUse = nil
                _ = try decoder()
            }
            standsAt = nil
        }
        while position <= index {
            guard try step() else { throw fault("frame \(index) has gone") }
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
            // What came before the cut is in the surface, if the coder paints as it goes.
            if error.code == .truncated && request.wantsPartial && isIncremental && !place.isBlank {
                return .partial(PixelRect(place.rect.size))
            }
            throw error
        }
    }

    // MARK: Composited frames

    /// The format of the canvas: as deep as the samples.
    private var canvasFormat: PixelFormat { info.nativeFormat.bits > 8 ? .rgba16 : .rgba8 }

    private func deliveredFormat() throws(CoderError) -> PixelFormat {
        let offered = try decoder().pixelFormats()
        return offered.contains(canvasFormat) ? canvasFormat : offered[0]
    }

    /// Where drawing begins to see frame `index`: on the canvas as it is, or on an empty one.
    private func way(to index: Int) -> (first: Int, goesOn: Bool) {
        let start = timeline.start(of: index)
        if let follows, follows >= start, follows <= index { return (follows, true) }
        return (start, false)
    }

    /// The first frame whose samples are decoded for those of frame `index`.
    private func firstSamples(for index: Int) -> Int {
        var first = index
        while first > 0, !timeline[first].isIndependent, lastDecoded != first - 1, lastDecoded != first { first -= 1 }
        return first
    }

    /// How many frames are drawn or decoded to see frame `index`, which was met.
    func replayCount(of index: Int) -> Int {
        shown == index ? 1 : index - min(way(to: index).first, firstSamples(for: index)) + 1
    }

    /// Draws a frame that was met with everything below it.
    ///
    /// - Parameter wants: says which of the frames on the way are handed to `keep`; they are drawn even if they leave
    ///   nothing behind.
    func picture(
        of index: Int, keeping wants: (Int) -> Bool = { _ in false },
        onTheWay keep: (FrameInfo, PixelBuffer) -> Void = { _, _ in }
    ) throws(CoderError) -> PixelBuffer {
        let compositor = try makeCompositor()
        if shown == index { return compositor.canvas }
        var (first, goesOn) = way(to: index)
        let samples = firstSamples(for: index)
        // Where samples have to be decoded anyway, they can as well be seen.
        if samples < first, (samples..<first).contains(where: wants) { (first, goesOn) = way(to: samples) }
        let isExact = goesOn || timeline.goesOn(after: index)
        if !goesOn { try compositor.reset() }
        shown = nil
        for earlier in first..<index {
            let frame = timeline[earlier]
            // A frame that builds on something before the first one would come out wrong.
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

    /// Draws as much of frame 0 as there is; nil when that is not more than this has answered before.
    func partialPicture() throws(CoderError) -> (pixels: PixelBuffer, changed: PixelRect, isComplete: Bool)? {
        let compositor = try makeCompositor()
        if shown == 0 {
            // It may have been completed by somebody who wanted the whole.
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
            // It covers nothing: the canvas is all there is to see.
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
            // What waits beside the canvas is not to be seen yet.
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
                // It goes on where it was.
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
    /// Whether nothing has been painted here: what is clean at first is all zeros.
    fileprivate var isBlank: Bool {
        let bytes = buffer.format.bytesPerPixel
        return (0..<rect.height).allSatisfy { y in
            buffer.withRow(rect.y + y) { row in
                (rect.x * bytes..<(rect.x + rect.width) * bytes).allSatisfy { row.byte(at: $0) == 0 }
            }
        }
    }
}
