public import CoderPluginKit
public import ImageModel

/// Decodes PNG; of an animated one the default image.
///
/// The file is walked here, chunk by chunk, so that whole and growing sources take one way.
public final class PNGDecoder: ImageDecoder {
    private let file: PNGFile
    private let host: HostServices
    private var info: ImageInfo?
    private var engine: PNGEngine?
    private var picture: PNGPicture?

    public init(_ session: DecoderSession) throws(CoderError) {
        file = PNGFile(session)
        host = session.host
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        let info = try file.readHeader()
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] { try file.metadata() }

    public var pixelFormats: [PixelFormat] { file.pixelFormats }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let info, surface.size == info.size, pixelFormats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not fit the picture")
        }
        let picture = try pictureGoingOn(in: surface, wantsPartial: request.wantsPartial)
        let outcome = try picture.decode(wantsPartial: request.wantsPartial)
        if outcome == .complete { file.passWarnings() }
        return outcome
    }

    /// The picture that was begun, or a new one where the surface is another one.
    private func pictureGoingOn(
        in surface: borrowing Surface, wantsPartial: Bool
    ) throws(CoderError) -> PNGPicture {
        if let picture, picture.fits(surface) { return picture }
        if engine == nil { engine = try file.makeEngine() }
        guard let engine else { throw CoderError(.misuse, "the header was not read") }
        let fresh = try PNGPicture(
            PNGCursor(file.source, at: file.firstData ?? 0), of: file.source, by: engine, host: host,
            isInterlaced: file.isInterlaced, into: surface, wantsPartial: wantsPartial)
        picture = fresh
        return fresh
    }
}
