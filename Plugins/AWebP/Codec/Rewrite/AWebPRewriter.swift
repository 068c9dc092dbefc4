public import CoderPluginKit
public import ImageModel
import WebPCodec

/// Changes the metadata of an animated WebP; see ``WebPRewriter``.
public struct AWebPRewriter: ImageRewriter {
    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        var scanner = AWebPScanner(
            DecoderSession(
                source: session.source, options: session.options, limits: session.limits, host: session.host))
        // The WebP coder handles stills.
        try scanner.readCanvas()
        return try WebPRewriter.rewrite(request, session)
    }
}
