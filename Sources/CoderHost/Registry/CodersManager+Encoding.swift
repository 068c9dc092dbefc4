import HostSystem
public import ImageModel
import PluginRuntime

extension CodersManager {
    /// Returns the coders that write stills of a format, best first.
    ///
    /// A coder that only writes animations is one of them if no known plugin, usable or not, writes stills of the format.
    /// - Parameter id: the id of the only coder to return; nil returns all.
    package func encoders(for format: ImageFormat, forcing id: String? = nil) -> [RankedCoder] {
        let able = order(for: format).filter { id == nil || $0.descriptor.id == id }
        let still = able.filter { $0.descriptor.roles.contains(.encode) }
        if !still.isEmpty || stillsBelongToAPlugin(format) { return still }
        return able.filter { $0.descriptor.roles.contains(.encodeAnimation) }
    }

    /// Whether a plugin that is installed or published declares that it writes stills of a format.
    private func stillsBelongToAPlugin(_ format: ImageFormat) -> Bool {
        let known = registry.snapshot.plugins.compactMap(\.manifest) + configuration.catalogue().map(\.manifest)
        return known.flatMap(\.coders).contains { coder in
            coder.roles.contains(.encode) && coder.formats.contains { $0.id == format }
        }
    }

    /// Whether a coder writes stills of the format; nil means the default format.
    public func canEncode(to format: ImageFormat?) -> Bool {
        guard let format else { return defaultFormat(animated: false, alpha: true) != nil }
        return !encoders(for: format).isEmpty
    }

    /// Encodes a still into memory.
    ///
    /// - Throws: `.noCoder` if no coder writes the format.
    public func encode(
        _ image: DecodedImage, to format: ImageFormat? = nil, options: CoderOptions = CoderOptions()
    ) throws(CoderError) -> [UInt8] {
        let sink = MemorySink(limits: limits)
        try encode(image, to: try stillFormat(format, alpha: image.info.hasAlpha), options: options, into: sink)
        return sink.bytes
    }

    /// Encodes a still into a sink.
    ///
    /// - Returns: the coder, and warnings about the output.
    @discardableResult
    package func encode(
        _ image: DecodedImage, to format: ImageFormat, options: CoderOptions = CoderOptions(),
        into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        try encode(.whole(image), to: format, options, EncodeOptions(), into: sink)
    }

    /// Encodes with options for the coder and for the host.
    ///
    /// - Parameters:
    ///   - options: the options for the coder.
    ///   - wishes: the options for the host.
    func encode(
        _ content: EncodingContent, to format: ImageFormat, _ options: CoderOptions, _ wishes: EncodeOptions,
        into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        var refusal: CoderError?
        // If the caller names an encoder, no other one replaces it.
        var absent = wishes.encoder == nil ? absentEncoders(for: format, .encode) : []
        for candidate in encoders(for: format, forcing: wishes.encoder) {
            let coder = candidate.descriptor
            let context = SessionContext(
                limits: limits, options: options, usualThreads: configuration.threadsPerImage)
            for warning in absent.compactMap({ $0.warning(for: candidate) }) { context.warn(warning) }
            do throws(CoderError) {
                try OptionCheck.examine(options, coder)
                let encoder = try candidate.coder.makeEncoder(context)
                let inspector = OutputInspector(sink, of: coder)
                try content.write(with: encoder, coder, wishes, context, inspector)
                try encoder.finish()
                try inspector.examine { recognizes($0) }
            } catch {
                let named = error.naming(encoder: coder.id)
                // If a plugin turns out to be unusable, the next coder continues; nothing was written yet.
                guard error.code == .pluginRefused else { throw named }
                refusal = refusal ?? named
                absent.append(UnusableCoder(candidate, error))
                continue
            }
            return EncodeReport(coder: coder.id, warnings: context.warnings, isolation: context.isolation)
        }
        throw refusal ?? absence(ofEncoderFor: format, forcing: wishes.encoder)
    }
}
