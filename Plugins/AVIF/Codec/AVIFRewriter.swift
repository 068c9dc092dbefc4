public import CoderPluginKit
internal import ISOBoxes
public import ImageModel

/// Changes the metadata and the orientation of an AVIF file, still or sequence.
///
/// Every byte of an image is copied unchanged. `.raw` covers items of other kinds than images, Exif and XMP, unknown
/// boxes of the file, and the bytes behind them.
public struct AVIFRewriter: ImageRewriter {
    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        let decoder = try AVIFDecoder(DecoderSession(source: session.source, limits: session.limits))
        return try ContainerRewriter.rewrite(request, session, size: try decoder.readHeader().size)
    }
}
