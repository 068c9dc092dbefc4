import CoderHost
import ImageModel
import ImageProcessing

/// Animations: the frames to write, the search for a file size, and the original frames if they are smaller.
extension ConvertJob {
    // MARK: Frames

    /// Returns the selected frames with their durations; nil if all frames are written as stored.
    func selectedFrames(_ session: DecodeSession) throws(CoderError) -> [FrameSelection.Frame]? {
        if selection.frames.isIdentity { return nil }
        // A coder of stills is not asked for a second frame.
        if session.info.frameCount != 1 || session.coder.roles.contains(.animation),
            case .failure(let error) = session.findFrames()
        {
            guard selection.allowsIncomplete, error.code == .truncated else { throw error }
            session.context.warn("truncated in frame \(session.knownFrameCount): the frames before it are written")
        }
        if session.knownFrameCount < 2 {
            session.context.warn("the image has one frame: the options that select or retime frames have no effect")
            return nil
        }
        return try selection.frames.frames(of: session.knownFrames.map(\.duration))
    }

    /// Returns whether to write a second frame, and whether the data ends before that frame is complete.
    func hasMoreFrames(
        _ session: DecodeSession, _ frames: [FrameSelection.Frame]?
    ) throws(CoderError) -> (Bool, isCut: Bool) {
        if selection.isOneFrame { return (false, false) }
        if let frames { return (frames.count > 1, false) }
        do throws(CoderError) {
            return (try session.frameInfo(1) != nil, false)
        } catch {
            guard selection.allowsIncomplete, error.code == .truncated else { throw error }
            return (false, true)
        }
    }

    /// Returns the number of frames that share the byte limit.
    private func frameCount(_ session: DecodeSession) -> Int {
        if let count = session.info.frameCount { return count }
        _ = session.findFrames()
        return max(1, session.knownFrameCount)
    }

    // MARK: Writing

    /// Returns the options of an animation encoder, and warnings about options without effect.
    func animationOptions(
        _ session: DecodeSession, _ encoder: CoderDescriptor, _ format: ImageFormat
    ) throws(CoderError) -> (known: CoderOptions, warnings: [String]) {
        let options = try encode.encoding(format, encoder, host)
        if encode.embedsThumbnail {
            session.context.warn("--embed-thumbnail is ignored: animations have no thumbnail")
        }
        noteAnimation(session, encoder, format)
        return options
    }

    /// Writes an animation, as small as requested.
    func animate(
        _ decoding: Decoding, _ source: ImageSource, _ coder: CoderDescriptor, _ options: CoderOptions,
        _ sink: FileSink
    ) throws(CoderError) -> (EncodeReport?, PixelSize) {
        let decoding = try settled(decoding)
        var size = PixelSize.zero
        func write(
            _ options: CoderOptions, _ sink: any OutputSink, _ note: (Double) -> Void = { _ in }
        ) throws(CoderError) -> EncodeReport {
            let writer = AnimationWriter(decoding, options, sink)
            try self.write([writer], note)
            size = writer.size
            return try writer.finish()
        }
        guard let limit = encode.maxFileSize else {
            let report = try keepingSmaller(source, decoding, into: sink) { sink throws(CoderError) in
                try write(options, sink)
            }
            return (report, size)
        }
        let search = AnimationSizeSearch(limit: limit, coder, options, limits)
        let (bytes, report) = try search.run { options, trial throws(CoderError) in
            try write(options, trial) { trial.share = $0 }
        }
        try bytes.withSpan { span throws(CoderError) in try sink.write(span) }
        return (report, size)
    }

    /// Returns the decoding with the size that depends on the number of frames.
    func settled(_ decoding: Decoding) throws(CoderError) -> Decoding {
        guard decoding.shape.options.size.dependsOnFrameCount else { return decoding }
        var decoding = decoding
        let count = decoding.frames?.count ?? frameCount(decoding.session)
        decoding.shape = try decoding.session.shape(decoding.shape, frameCount: count)
        return decoding
    }

    /// Writes the frames of one input to one or more animations: each frame is decoded once.
    ///
    /// - Parameter note: receives the written part of the animations, if the number of frames is known.
    func write(_ writers: [AnimationWriter], _ note: (Double) -> Void = { _ in }) throws(CoderError) {
        guard let first = writers.first else { return }
        let (session, frames) = (first.decoding.session, first.decoding.frames)
        let total = frames?.count ?? session.info.frameCount ?? 0
        var progress = ProgressLine(total: schedule.isAlone ? total : 0)
        defer { progress.clear() }
        var count = 0
        func images(of index: Int) throws(CoderError) -> [DecodedImage] {
            let pixels = try session.decodeFrame(index).pixels
            var images: [DecodedImage] = []
            for writer in writers { images.append(keeping(try writer.shaped(pixels))) }
            return images
        }
        func addAll(_ images: [DecodedImage], _ duration: FrameDuration) throws(CoderError) {
            if total > 0 { note(min(1, Double(count) / Double(total))) }
            count += 1
            progress.show(count, "frame \(count)")
            for (writer, image) in zip(writers, images) { try add(image, duration, to: writer) }
        }
        if let frames {
            let area = writers.reduce(0) { $0 + ($1.decoding.shape.size.area ?? 0) }
            let blocks = FrameBlocks(frames, bytesPerFrame: area * (session.info.bitDepth > 8 ? 8 : 4))
            try blocks.each(images) { images, frame throws(CoderError) in try addAll(images, frame.duration) }
        } else {
            var index = 0
            while true {
                do throws(CoderError) {
                    guard let frame = try session.frameInfo(index) else { break }
                    try addAll(try images(of: index), frame.duration)
                } catch {
                    guard selection.allowsIncomplete, error.code == .truncated, index > 0 else { throw error }
                    session.context.warn("truncated in frame \(index): the frames before it are written")
                    break
                }
                index += 1
            }
        }
        if count == 0 { throw CoderError(.corrupt, "the file has no frames") }
    }

    /// Adds a frame to an animation; the first one creates the encoder.
    private func add(
        _ image: DecodedImage, _ duration: FrameDuration, to writer: AnimationWriter
    ) throws(CoderError) {
        if writer.encoder == nil {
            let decoding = writer.decoding
            var facts = image.info
            facts.hasAlpha = facts.hasAlpha || decoding.session.info.hasAlpha
            if let frames = decoding.frames { facts.frameCount = frames.count }
            writer.size = facts.size
            writer.encoder = try host.manager.makeAnimationEncoder(
                to: decoding.format, of: facts, metadata: image.metadata, options: writer.options, limits: limits,
                background: changes.finish.background?.overWhite ?? .white, dynamicRange: encode.dynamicRange,
                forcing: encode.encoder, into: writer.sink)
        }
        try writer.encoder?.add(image.pixels, duration: duration)
    }

    // MARK: Original frames

    /// Runs an encoding into the sink. If nothing was asked that changes pixels, and the frames as stored need no more
    /// bytes, writes these instead: an animation never becomes larger by a conversion to its own format.
    func keepingSmaller(
        _ source: ImageSource, _ decoding: Decoding, into sink: FileSink,
        _ encode: (any OutputSink) throws(CoderError) -> EncodeReport
    ) throws(CoderError) -> EncodeReport {
        guard let (bytes, stored) = rewritten(source, decoding) else { return try encode(sink) }
        // Output above the stored bytes is dropped, but the encoder sees every frame: damage is still an error.
        let trial = TrialSink(limit: bytes.count - 1, .count, limits: limits)
        let report = try encode(trial)
        let isStored = trial.isExceeded
        try (isStored ? bytes : trial.bytes).withSpan { span throws(CoderError) in try sink.write(span) }
        if !isStored { return report }
        return stored.asEncoding
    }

    /// Whether the written pixels are the stored ones, for example because a small image fits its thumbnail.
    private func changesNothing(_ decoding: Decoding) -> Bool {
        if changes.isIdentity { return true }
        return changes.trim == nil && changes.overlay == nil && !decoding.shape.hasSteps
            && decoding.shape.size == decoding.session.info.size
    }

    /// Returns the file with the selected metadata and its stored frames, packed again; nil if that does not fit.
    private func rewritten(_ source: ImageSource, _ decoding: Decoding) -> (bytes: [UInt8], RewriteReport)? {
        let session = decoding.session
        let takesAll = decoding.frames == nil && !selection.isOneFrame && !selection.allowsIncomplete
        guard takesAll, !renditions.isSeries, changesNothing(decoding), encode.isEmpty,
            decoding.format == session.format,
            session.coder.roles.contains(.animation), session.coder.roles.contains(.rewrite), !session.info.hasItems,
            source.isComplete, let removed = selection.removedParts(of: session.info)
        else { return nil }
        var options = RewriteOptions()
        options.removed = removed
        options.optimizes = true
        let sink = MemorySink(limits: limits)
        // A file that cannot be rewritten is encoded, as any other.
        guard let report = try? host.manager.rewrite(source, to: sink, options) else { return nil }
        return (sink.bytes, report)
    }
}

/// One animation that is being written.
final class AnimationWriter {
    let decoding: ConvertJob.Decoding
    let options: CoderOptions
    let sink: any OutputSink
    /// The encoder; nil before the first frame.
    var encoder: AnimationEncoder?
    /// The size of the canvas.
    var size = PixelSize.zero
    private var notes = ShapeNotes()

    init(_ decoding: ConvertJob.Decoding, _ options: CoderOptions, _ sink: any OutputSink) {
        (self.decoding, self.options, self.sink) = (decoding, options, sink)
    }

    /// Shapes a decoded frame.
    func shaped(_ pixels: PixelBuffer) throws(CoderError) -> DecodedImage {
        try decoding.session.shaped(pixels, decoding.shape, &notes)
    }

    /// Writes the rest of the animation.
    func finish() throws(CoderError) -> EncodeReport {
        guard let encoder else { throw CoderError(.corrupt, "the file has no frames") }
        return try encoder.finish()
    }
}
