public import ImageModel

/// A coder that changes a file without decoding its pixels and encoding them again.
///
/// A rewriter knows the structure of its format, not the meaning of metadata: the host edits Exif and hands the result
/// over in ``RewriteRequest/replaced``.
public protocol ImageRewriter: SendableMetatype {
    /// Copies the source to the sink with the changes that `request` asks for.
    ///
    /// Bytes that `request` does not name are copied as they are; every pixel of ``RewriteOutcome/kept`` keeps its value.
    /// - Throws: `.refused(…)` where the format cannot make one of the changes without loss; `.corrupt` and `.truncated`
    ///   for a damaged source. The host deletes the output after every error.
    ///
    /// The corresponding C function is `cpi_rewrite_api.rewrite`.
    static func rewrite(_ request: RewriteRequest, _ session: RewriteSession) throws(CoderError) -> RewriteOutcome
}

/// What a rewriter is given.
public struct RewriteSession {
    public let source: ByteSource
    public let sink: ByteSink
    public let options: CoderOptions
    public let limits: DecodeLimits
    public let host: HostServices

    public init(
        source: ByteSource, sink: ByteSink, options: CoderOptions = CoderOptions(), limits: DecodeLimits = .default,
        host: HostServices = HostServices()
    ) {
        self.source = source
        self.sink = sink
        self.options = options
        self.limits = limits
        self.host = host
    }
}

/// A coder that converts files bit by bit from another format into its own and back, such as JPEG into JPEG XL.
public protocol ImageTranscoder: SendableMetatype {
    /// Copies the source to the sink in the other format.
    ///
    /// - Throws: `.refused` where the source was not packed from `format`, or cannot be packed.
    ///
    /// The corresponding C function is `cpi_transcode_api.transcode`.
    static func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ session: RewriteSession
    ) throws(CoderError)
}
