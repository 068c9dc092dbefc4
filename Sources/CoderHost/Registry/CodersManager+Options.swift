public import HostSystem
public import ImageModel
import ImageProcessing
import PluginCatalogue
public import PluginRuntime

// MARK: Decoding

extension CodersManager {
    /// Decodes a still, or the first frame of an animation, with options.
    ///
    /// - Throws: the errors of ``withSession(_:options:limits:forcing:_:)``.
    public func decode(_ source: ImageSource, _ options: DecodeOptions) throws(CoderError) -> DecodedImage {
        try withSession(source, options) { session throws(CoderError) in try session.decodeImage(options) }
    }

    /// Opens an image with the coder that the hints select, or else with the best one.
    ///
    /// If a hint turns out to be wrong, it is ignored.
    package func withSession<R>(
        _ source: ImageSource, _ options: DecodeOptions, limits: DecodeLimits? = nil, forcing id: String? = nil,
        _ body: (DecodeSession) throws(CoderError) -> R
    ) throws(CoderError) -> R {
        if id == nil, let hinted = coder(hintedAtBy: options, for: source) {
            do throws(CoderError) {
                return try withSession(source, options: options.coder, limits: limits, forcing: hinted, body)
            } catch {
                let isWrong = [
                    .notMine, .unrecognizedFormat, .unsupportedFeature, .corrupt, .truncated, .pluginRefused,
                ]
                .contains(error.code)
                guard isWrong else { throw error }
            }
        }
        return try withSession(source, options: options.coder, limits: limits, forcing: id, body)
    }

    /// Returns the best coder for the hinted format; nil if it would be asked first anyway.
    private func coder(hintedAtBy options: DecodeOptions, for source: ImageSource) -> String? {
        guard let format = format(hintedAtBy: options) else { return nil }
        let able = order(for: format).filter { $0.descriptor.roles.contains(.decode) }
        let claims = candidates(for: source)
        guard let hinted = able.first?.descriptor, claims.first?.descriptor.id != hinted.id else { return nil }
        // A format without signatures applies only if no other format matches.
        if hinted.formats.contains(where: { $0.id == format && $0.signatures.isEmpty }) {
            guard source.hasWholeHead, !claims.contains(where: \.isCertain) else { return nil }
        }
        return hinted.id
    }

    private func format(hintedAtBy options: DecodeOptions) -> ImageFormat? {
        let known = coders.map(\.descriptor).filter { $0.roles.contains(.decode) }.flatMap(\.formats)
        if let type = options.hint.type {
            return known.last { $0.id.id == type || $0.mimeTypes.contains(type) || $0.typeIdentifiers.contains(type) }?
                .id
        }
        guard let suffix = options.hint.fileExtension?.lowercased() else { return nil }
        return known.last { $0.extensions.contains(suffix) }?.id
    }
}

// MARK: Encoding

extension CodersManager {
    /// Encodes a still into memory with options.
    ///
    /// - Throws: `.limitExceeded` if no quality meets `maxFileSize`; `.noCoder` if no coder writes the format.
    public func encode(
        _ image: DecodedImage, to format: ImageFormat? = nil, _ options: EncodeOptions
    ) throws(CoderError) -> [UInt8] {
        let sink = MemorySink(limits: limits)
        try encode(image, to: try stillFormat(format, alpha: image.info.hasAlpha), options, into: sink)
        return sink.bytes
    }

    /// Encodes a still into a sink with options.
    @discardableResult
    public func encode(
        _ image: DecodedImage, to format: ImageFormat, _ options: EncodeOptions, into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        var image = image
        if let box = options.maxPixelSize { try image.fit(into: box) }
        let encoder = encoders(for: format, forcing: options.encoder).first?.descriptor
        let scale = encoder?.quality
        var coding = coding(options, for: format)
        guard let limit = options.maxFileSize else {
            return try encode(.whole(image), to: format, coding, options, into: sink)
        }
        var report = EncodeReport(coder: encoder?.id ?? "", warnings: [])
        func attempt(_ coding: CoderOptions) throws(CoderError) -> [UInt8] {
            let trial = MemorySink(limits: limits)
            report = try encode(.whole(image), to: format, coding, options, into: trial)
            return trial.bytes
        }
        let bytes: [UInt8]
        let isLossless = coding.bool(OptionKey.lossless) == true
        if scale == nil || isLossless {
            bytes = try attempt(coding)
            if bytes.count > limit {
                throw FileSizeSearch.excess(
                    limit, bytes.count, isLossless && scale != nil ? .lossless : .noQuality, coder: encoder?.id)
            }
        } else {
            let lowest = Int((scale?.minimum ?? 0).rounded(.up))
            let highest = Int(min(scale?.maximum ?? 100, options.quality ?? coding.real(OptionKey.quality) ?? 100))
            let search = FileSizeSearch(limit: limit, qualities: lowest...max(lowest, highest), coder: encoder?.id)
            bytes = try search.run { quality throws(CoderError) in
                coding[OptionKey.quality] = .real(Double(quality))
                return try attempt(coding)
            }.bytes
        }
        try bytes.withSpan { span throws(CoderError) in try sink.write(span) }
        return report
    }
}

extension CodersManager {
    /// Returns the options for the coder of a format, including the quality if it has one.
    func coding(_ options: EncodeOptions, for format: ImageFormat) -> CoderOptions {
        var coding = options.coder
        if let quality = options.quality,
            encoders(for: format, forcing: options.encoder).first?.descriptor.quality != nil
        {
            coding[OptionKey.quality] = .real(quality)
        }
        return coding
    }
}

extension CoderDescriptor {
    /// The option for the quality.
    fileprivate var quality: PluginManifest.Option? {
        options.first { $0.key == OptionKey.quality && $0.scope.includesEncoding }
    }
}
