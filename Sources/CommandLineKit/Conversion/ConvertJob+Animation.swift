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

    /// Writes an animation, as small as requested.
    func animate(
        _ decoding: Decoding, _ source: ImageSource, _ coder: CoderDescriptor, _ options: CoderOptions,
        _ sink: FileSink
    ) throws(CoderError) -> (EncodeReport?, PixelSize) {
        var decoding = decoding
        if decoding.shape.options.size.dependsOnFrameCount {
            let count = decoding.frames?.count ?? frameCount(decoding.session)
            decoding.shape = try decoding.session.shape(decoding.shape, frameCount: count)
        }
        var size = PixelSize.zero
        guard let limit = encode.maxFileSize else {
            let report = try keepingSmaller(source, decoding, into: sink) { sink throws(CoderError) in
                try write(decoding, options, sink, &size)
            }
            return (report, size)
        }
        let search = AnimationSizeSearch(limit: limit, coder, options, limits)
        let (bytes, report) = try search.run { options, trial throws(CoderError) in
            try write(decoding, options, trial, &size) { trial.share = $0 }
        }
        try bytes.withSpan { span throws(CoderError) in try sink.write(span) }
        return (report, size)
    }

    /// Writes an animation once, with one frame in memory at a time.
    ///
    /// - Parameters:
    ///   - size: receives the size of the canvas.
    ///   - note: receives the written part of the animation, if the number of frames is known.
    private func write(
        _ decoding: Decoding, _ options: CoderOptions, _ sink: any OutputSink, _ size: inout PixelSize,
        _ note: (Double) -> Void = { _ in }
    ) throws(CoderError) -> EncodeReport {
        let session = decoding.session
        let total = decoding.frames?.count ?? session.info.frameCount ?? 0
        var encoder: AnimationEncoder?
        var canvas = PixelSize.zero
        var progress = ProgressLine(total: schedule.isAlone ? total : 0)
        defer { progress.clear() }
        func add(_ image: DecodedImage, _ duration: FrameDuration) throws(CoderError) {
            if encoder == nil {
                var facts = image.info
                facts.hasAlpha = facts.hasAlpha || session.info.hasAlpha
                canvas = facts.size
                if let frames = decoding.frames { facts.frameCount = frames.count }
                encoder = try host.manager.makeAnimationEncoder(
                    to: decoding.format, of: facts, metadata: image.metadata, options: options, limits: limits,
                    background: changes.finish.background?.overWhite ?? .white, dynamicRange: encode.dynamicRange,
                    forcing: encode.encoder, into: sink)
            }
            let count = encoder?.frameCount ?? 0
            if total > 0 { note(min(1, Double(count) / Double(total))) }
            progress.show(count + 1, "frame \(count + 1)")
            try encoder?.add(image.pixels, duration: duration)
        }
        if let frames = decoding.frames {
            let bytes = (decoding.shape.size.area ?? 0) * (session.info.bitDepth > 8 ? 8 : 4)
            try FrameBlocks(frames, bytesPerFrame: bytes).each { index throws(CoderError) in
                keeping(try session.decodeFrame(index, decoding.shape))
            } _: { image, frame throws(CoderError) in
                try add(image, frame.duration)
            }
        } else {
            var index = 0
            while true {
                do throws(CoderError) {
                    guard let frame = try session.frameInfo(index) else { break }
                    try add(keeping(try session.decodeFrame(index, decoding.shape)), frame.duration)
                } catch {
                    guard selection.allowsIncomplete, error.code == .truncated, index > 0 else { throw error }
                    session.context.warn("truncated in frame \(index): the frames before it are written")
                    break
                }
                index += 1
            }
        }
        guard let encoder else { throw CoderError(.corrupt, "the file has no frames") }
        size = canvas
        return try encoder.finish()
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

    /// Returns the file with the selected metadata and its stored frames, packed again; nil if that does not fit.
    private func rewritten(_ source: ImageSource, _ decoding: Decoding) -> (bytes: [UInt8], RewriteReport)? {
        let session = decoding.session
        let takesAll = decoding.frames == nil && !selection.isOneFrame && !selection.allowsIncomplete
        guard takesAll, !renditions.isSeries, changes.isIdentity, encode.isEmpty, decoding.format == session.format,
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
