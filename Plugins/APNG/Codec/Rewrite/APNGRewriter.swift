public import CoderPluginKit
public import ImageModel
internal import PNGCodec

/// Changes the metadata of an animated PNG, and compresses its frames into fewer bytes; see ``PNGRewriter``.
public struct APNGRewriter: ImageRewriter {
    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        let file = PNGFile(
            DecoderSession(
                source: session.source, options: session.options, limits: session.limits, host: session.host))
        _ = try file.readHeader()
        guard file.animationControl != nil else { throw .notMine("the image is not animated") }
        return try PNGRewriter.rewrite(request, session)
    }
}
