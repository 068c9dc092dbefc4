public import HostSystem
public import ImageModel
import ImageProcessing
import PluginCatalogue
package import PluginRuntime

/// Writes an animation one frame at a time, without keeping the frames in memory.
///
///     let sink = try FileSink(path: "cat.gif", replacing: true)
///     let encoder = try manager.makeAnimationEncoder(to: "gif", of: info, into: sink)
///     try encoder.add(pixels, duration: .milliseconds(40))
///     try encoder.finish()
///     try sink.commit()
///
/// Every frame is the whole composited canvas; the encoder decides which part of it to store.
/// - Concurrency: one thread at a time.
public final class AnimationEncoder {
    /// The coder in use.
    package let coder: CoderDescriptor
    private let encoder: any FrameEncoder
    package let context: SessionContext
    private let sink: OutputInspector
    private let recognizes: (FormatSniffer) -> Bool
    /// A temporary file, used if the coder must overwrite earlier output.
    private let spool: SpooledSink?
    private var facts: ImageInfo
    private let metadata: [MetadataBlob]
    private let wishes: EncodeOptions
    private var plan: EncodingPlan?
    /// The number of added frames.
    package private(set) var frameCount = 0

    init(
        _ ranked: RankedCoder, of facts: ImageInfo, _ metadata: [MetadataBlob], _ sink: any OutputSink,
        _ context: SessionContext, _ wishes: EncodeOptions, recognizes: @escaping (FormatSniffer) -> Bool
    ) throws(CoderError) {
        self.wishes = wishes
        coder = ranked.descriptor
        encoder = try ranked.coder.makeEncoder(context)
        self.context = context
        self.sink = OutputInspector(sink, of: ranked.descriptor)
        self.recognizes = recognizes
        spool = sink.isSeekable ? nil : try SpooledSink(limits: context.limits)
        self.facts = facts
        // The default properties are those of a still, so an animation's frame count is unknown.
        if !facts.isAnimated {
            self.facts.isAnimated = true
            self.facts.frameCount = nil
        }
        self.metadata = metadata
    }

    /// Problems with the usable output.
    package var warnings: [String] { context.warnings }

    /// Adds a frame; the first one determines the pixel format, which has alpha if the properties declare it.
    ///
    /// - Throws: `.invalidArgument` if the size differs from the canvas.
    public func add(_ pixels: PixelBuffer, duration: FrameDuration) throws(CoderError) {
        guard pixels.size == facts.size else {
            throw .invalidArgument(
                "frame \(frameCount) has \(pixels.size) pixels, the animation \(facts.size)",
                hint: "all frames of an animation must have the same size")
        }
        try named { () throws(CoderError) in
            try LimitCheck.examine(frameCount: frameCount + 1, of: pixels.size, context.limits)
            if plan == nil { plan = try begin(with: pixels.format) }
            guard let plan else { return }
            try context.holding(pixelBytes: plan.byteCount(with: pixels)) { () throws(CoderError) in
                let prepared = try plan.prepared(pixels)
                let frame = FrameInfo(
                    index: frameCount, rect: PixelRect(prepared.size), duration: duration,
                    hasAlpha: plan.info.hasAlpha)
                try encoder.add(frame, pixels: prepared)
            }
        }
        frameCount += 1
    }

    private func begin(with format: PixelFormat) throws(CoderError) -> EncodingPlan {
        // The properties apply to all frames: a later frame may have alpha even if the first does not. For an opaque
        // animation, the encoder receives no alpha samples, so they cannot contradict the properties.
        facts.nativeFormat = facts.hasAlpha ? format.withAlpha : format.withoutAlpha
        let plan = try EncodingPlan(facts, metadata, encoder, coder, context, wishes)
        if let spool { try plan.begin(encoder, spool) } else { try plan.begin(encoder, sink) }
        return plan
    }

    /// Writes the remaining data to the sink; for a ``FileSink``, call ``FileSink/commit()`` afterwards.
    ///
    /// - Throws: `.invalidArgument` without any frame.
    @discardableResult
    public func finish() throws(CoderError) -> EncodeReport {
        guard plan != nil else { throw .invalidArgument("an animation needs at least one frame") }
        try named { () throws(CoderError) in
            try encoder.finish()
            try spool?.copy(to: sink)
            try sink.examine(recognizes)
        }
        return EncodeReport(coder: coder.id, warnings: context.warnings, isolation: context.isolation)
    }

    private func named(_ body: () throws(CoderError) -> Void) throws(CoderError) {
        do throws(CoderError) {
            try body()
        } catch {
            throw error.naming(encoder: coder.id)
        }
    }
}

extension CoderError {
    /// Adds the encoder's name to an error, so it is not attributed to a decoder.
    func naming(encoder id: String) -> CoderError {
        var named = self
        // Errors of the output are not the encoder's fault.
        if coder == nil && code != .inputOutput { named.coder = id }
        return named
    }
}

extension CodersManager {
    /// Returns the coders that write animations in a format, best first.
    ///
    /// - Parameter id: the id of the only coder to return; nil returns all.
    package func animationEncoders(for format: ImageFormat, forcing id: String? = nil) -> [RankedCoder] {
        order(for: format).filter { coder in
            coder.descriptor.roles.contains(.encodeAnimation) && (id == nil || coder.descriptor.id == id)
        }
    }

    /// Creates an encoder for an animation.
    ///
    /// - Parameters:
    ///   - facts: the size, loop count and other properties of the frames; `frameCount` is nil if unknown. The loop
    ///     count `.unknown` is written as one play.
    ///   - id: the id of the only coder to use; nil selects the best one.
    /// - Throws: `.noCoder` if no coder writes animations in this format.
    public func makeAnimationEncoder(
        to format: ImageFormat, of facts: ImageInfo, metadata: [MetadataBlob] = [],
        options: CoderOptions = CoderOptions(), limits: DecodeLimits? = nil, background: RGBAColor = .white,
        dynamicRange: DynamicRange = .automatic, forcing id: String? = nil, into sink: any OutputSink
    ) throws(CoderError) -> AnimationEncoder {
        var wishes = EncodeOptions()
        (wishes.background, wishes.dynamicRange) = (background, dynamicRange)
        var refusal: CoderError?
        var absent = id == nil ? absentEncoders(for: format, .encodeAnimation) : []
        for candidate in animationEncoders(for: format, forcing: id) {
            let context = SessionContext(
                limits: limits ?? self.limits, options: options, usualThreads: configuration.threadsPerImage)
            for warning in absent.compactMap({ $0.warning(for: candidate) }) { context.warn(warning) }
            do throws(CoderError) {
                try OptionCheck.examine(options, candidate.descriptor)
                return try AnimationEncoder(
                    candidate, of: facts, metadata, sink, context, wishes,
                    recognizes: { [self] in recognizes($0) })
            } catch {
                // If a plugin turns out to be unusable, the next coder continues.
                let named = error.naming(encoder: candidate.descriptor.id)
                guard error.code == .pluginRefused else { throw named }
                refusal = refusal ?? named
                absent.append(UnusableCoder(candidate, error))
            }
        }
        if let refusal { throw refusal }
        if id == nil, !encoders(for: format).isEmpty {
            throw CoderError(
                .noCoder, "no usable coder writes animations as \(format)",
                hint: "formats for animations: \(animationFormats.joined(separator: ", "))")
        }
        throw absence(ofEncoderFor: format, forcing: id)
    }

    /// The formats in which animations can be written.
    package var animationFormats: [String] {
        let coders = self.coders.map(\.descriptor).filter { $0.roles.contains(.encodeAnimation) }
        return Set(coders.flatMap(\.formats).map(\.id.id)).sorted()
    }
}

extension PixelFormat {
    /// The format with the same samples and alpha.
    fileprivate var withAlpha: PixelFormat {
        switch channels {
        case .gray: PixelFormat(.grayAlpha, bits: bits, numeric: numeric)
        case .rgb, .cmyk: PixelFormat(.rgba, bits: bits, numeric: numeric)
        case .grayAlpha, .rgba, .bgra: self
        }
    }

    /// The format with the same samples without alpha.
    fileprivate var withoutAlpha: PixelFormat {
        switch channels {
        case .grayAlpha: PixelFormat(.gray, bits: bits, numeric: numeric)
        case .rgba, .bgra: PixelFormat(.rgb, bits: bits, numeric: numeric)
        case .gray, .rgb, .cmyk: self
        }
    }
}
