import HostSystem
public import ImageModel
import ImageProcessing

extension CodersManager {
    /// Writes an animation frame by frame, or only its first frame if the format or the options require that.
    ///
    /// Frames have the size, colors and transformer of the opened image; durations and loop count are kept, apart from
    /// the selected frames. With `maxFileSize`, the host encodes several times to find the best quality that meets it.
    /// - Throws: the errors of frames and of the encoder; `.limitExceeded` if even the lowest quality is too large;
    ///   `.invalidArgument` for a selection of frames that do not exist.
    @discardableResult
    public func encode(
        _ animation: AnimatedImage, to format: ImageFormat, _ options: EncodeOptions = EncodeOptions(),
        into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        let isStill = !animation.isAnimated || options.firstFrameOnly
        let frames =
            isStill
            ? [] : try options.frames.frames(of: animation.durations(0..<animation.frameCount))
        guard frames.count > 1, let coder = animationEncoders(for: format, forcing: options.encoder).first else {
            return try encode(animation.image(at: frames.first?.index ?? 0), to: format, options, into: sink)
        }
        var first = try animation.image(at: frames[0].index)
        if let box = options.maxPixelSize { try first.fit(into: box) }
        var facts = first.info
        facts.frameCount = animation.isComplete ? frames.count : nil
        facts.isAnimated = true
        facts.loopCount = animation.loopCount
        facts.hasAlpha = animation.info.hasAlpha || first.pixels.format.hasTransparency
        var coding = options.coder
        let hasQuality = coder.descriptor.options.contains { $0.key == OptionKey.quality && $0.scope.includesEncoding }
        if let quality = options.quality, hasQuality { coding[OptionKey.quality] = .real(quality) }

        func attempt(
            _ coding: CoderOptions, _ sink: any OutputSink, _ progress: (Double) -> Void
        ) throws(CoderError) -> EncodeReport {
            let encoder = try makeAnimationEncoder(
                to: format, of: facts, metadata: first.metadata, options: coding, background: options.background,
                dynamicRange: options.dynamicRange, forcing: options.encoder, into: sink)
            try FrameBlocks(frames, bytesPerFrame: animation.bytesPerFrame).each { index throws(CoderError) in
                try animation.frame(at: index).pixels
            } _: { pixels, frame throws(CoderError) in
                var pixels = pixels
                if pixels.size != facts.size { pixels = try Resampler.resample(BufferRows(pixels), to: facts.size) }
                progress(Double(encoder.frameCount) / Double(frames.count))
                try encoder.add(pixels, duration: frame.duration)
            }
            return try encoder.finish()
        }
        guard let limit = options.maxFileSize else { return try attempt(coding, sink) { _ in } }
        let search = AnimationSizeSearch(limit: limit, coder.descriptor, coding, limits)
        let (bytes, report) = try search.run { coding, trial throws(CoderError) in
            try attempt(coding, trial) { trial.share = $0 }
        }
        try bytes.withSpan { span throws(CoderError) in try sink.write(span) }
        return report
    }
}
