public import ImageModel

/// A coder that changes a file without decoding and re-encoding its pixels.
///
/// A rewriter knows the structure of its format but does not interpret metadata: the host edits Exif and passes the
/// result in ``RewriteRequest/replaced``.
public protocol ImageRewriter: SendableMetatype {
    /// Copies the source to the sink with the requested changes.
    ///
    /// Bytes that `request` does not affect are copied unchanged; every pixel of ``RewriteOutcome/kept`` keeps its
    /// value.
    /// - Throws: `.refused(…)` if the format cannot make one of the changes losslessly; `.corrupt` and `.truncated` for
    ///   a damaged source. The host deletes the output after every error.
    ///
    /// The corresponding C function is `cpi_rewrite_api.rewrite`.
    static func rewrite(_ request: RewriteRequest, _ session: RewriteSession) throws(CoderError) -> RewriteOutcome
}

/// The input of a rewriter.
public struct RewriteSession {
    /// The complete input.
    public let source: ByteSource
    /// The output.
    public let sink: ByteSink
    /// The options of the call.
    public let options: CoderOptions
    /// The limits of the call.
    public let limits: DecodeLimits
    /// The host's services.
    public let host: HostServices

    /// Creates the input of a rewriter.
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

/// A coder that converts files losslessly from another format into its own and back, such as JPEG into JPEG XL.
public protocol ImageTranscoder: SendableMetatype {
    /// Copies the source to the sink in the other format.
    ///
    /// - Throws: `.refused` if the source was not packed from `format`, or cannot be packed.
    ///
    /// The corresponding C function is `cpi_transcode_api.transcode`.
    static func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ session: RewriteSession
    ) throws(CoderError)
}
