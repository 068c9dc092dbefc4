public import HostSystem
public import ImageModel
public import PluginRuntime

extension CodersManager {
    /// Copies a file without loss into a format that repacks its stream, or back into the original format.
    ///
    /// - Returns: the coder, and warnings about the output.
    /// - Throws: `.refused` if this file cannot be repacked, or was not packed from `format`; `.noCoder` if no coder
    ///   transcodes between the two formats. After an error, discard the output of the sink.
    @discardableResult
    public func transcode(
        _ source: ImageSource, to format: ImageFormat, into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        guard let own = candidates(for: source).first(where: \.isCertain)?.format else {
            throw CoderError(.unrecognizedFormat, "no coder recognizes these bytes")
        }
        let packers = transcoders(of: own, into: format)
        let direction: TranscodeDirection = packers.isEmpty ? .unpack : .pack
        guard let candidate = packers.first ?? transcoders(of: format, into: own).first else {
            throw CoderError(
                .noCoder, "no usable coder transcodes \(own) to \(format)",
                hint: "coderhost convert decodes and encodes it instead")
        }
        let context = SessionContext(limits: limits, usualThreads: configuration.threadsPerImage)
        do throws(CoderError) {
            let foreign = direction == .pack ? own : format
            try candidate.coder.transcode(source, to: sink, direction, foreign, context)
        } catch {
            throw error.naming(encoder: candidate.descriptor.id)
        }
        return EncodeReport(
            coder: candidate.descriptor.id, warnings: context.warnings, isolation: context.isolation)
    }

    /// Whether a coder copies files of one format into the other without loss.
    package func transcodes(_ own: ImageFormat, to format: ImageFormat) -> Bool {
        !transcoders(of: own, into: format).isEmpty || !transcoders(of: format, into: own).isEmpty
    }

    /// Returns the coders of `format` that repack streams of `stream`, best first.
    private func transcoders(of stream: ImageFormat, into format: ImageFormat) -> [RankedCoder] {
        order(for: format).filter {
            $0.descriptor.roles.contains(.transcode) && $0.descriptor.output.transcodes.contains(stream)
        }
    }
}
