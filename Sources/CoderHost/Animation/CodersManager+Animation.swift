import HostSystem
public import ImageModel
import ImageProcessing

extension CodersManager {
    /// Writes an animation frame by frame, or only its first frame if the format or the options require that.
    ///
    /// Frames have the size, colors and transformer of the opened image; durations and loop count are kept. Only the
    /// size, quality, background, dynamic range and coder options apply. A file larger than `maxFileSize` is an error.
    /// - Throws: the errors of frames and of the encoder; `.limitExceeded`.
    @discardableResult
    public func encode(
        _ animation: AnimatedImage, to format: ImageFormat, _ options: EncodeOptions = EncodeOptions(),
        into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        guard animation.isAnimated, !options.firstFrameOnly,
            let coder = animationEncoders(for: format, forcing: options.encoder).first
        else {
            return try encode(animation.image(at: 0), to: format, options, into: sink)
        }
        var first = try animation.image(at: 0)
        if let box = options.maxPixelSize { try first.fit(into: box) }
        var facts = first.info
        facts.frameCount = animation.isComplete ? animation.frameCount : nil
        facts.isAnimated = true
        facts.loopCount = animation.loopCount
        facts.hasAlpha = animation.info.hasAlpha || first.pixels.format.hasTransparency
        var coding = options.coder
        let hasQuality = coder.descriptor.options.contains { $0.key == OptionKey.quality && $0.scope.includesEncoding }
        if let quality = options.quality, hasQuality { coding[OptionKey.quality] = .real(quality) }

        let memory = options.maxFileSize.map { _ in MemorySink(limits: limits) }
        let encoder = try makeAnimationEncoder(
            to: format, of: facts, metadata: first.metadata, options: coding, background: options.background,
            dynamicRange: options.dynamicRange, forcing: options.encoder, into: memory ?? sink)
        for index in 0..<animation.frameCount {
            var pixels = try animation.frame(at: index).pixels
            if pixels.size != facts.size { pixels = try Resampler.resample(BufferRows(pixels), to: facts.size) }
            try encoder.add(pixels, duration: animation.duration(at: index))
        }
        let report = try encoder.finish()
        if let memory, let limit = options.maxFileSize {
            let bytes = memory.bytes
            if bytes.count > limit {
                throw FileSizeSearch.excess(limit, bytes.count, .animation, coder: coder.descriptor.id)
            }
            try bytes.withSpan { span throws(CoderError) in try sink.write(span) }
        }
        return report
    }
}
