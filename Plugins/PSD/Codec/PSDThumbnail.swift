import CoderPluginKit
import ImageModel
import JPEGCodec

/// The embedded thumbnail: a JPEG behind 28 bytes, opaque and in RGB.
enum PSDThumbnail {
    private static let headerBytes = 28

    /// Whether there is a thumbnail with the channels of the composite.
    static func exists(_ resources: PSDResources, _ form: CompositeForm) -> Bool {
        guard let place = resources[.thumbnail], place.count > headerBytes else { return false }
        return (form.color == .rgb || form.color == .palette) && form.format.channels == .rgb && form.depth < 32
    }

    /// Returns a decoder of the thumbnail, whose header has been read, and its facts.
    static func open(
        _ session: DecoderSession, _ resources: PSDResources
    ) throws(CoderError) -> (decoder: any ImageDecoder, info: ImageInfo)? {
        guard let place = resources[.thumbnail], place.count > headerBytes else { return nil }
        let decoder = try JPEGDecoder(
            DecoderSession(
                source: session.source.window(place.lowerBound + headerBytes..<place.upperBound),
                limits: session.limits, host: session.host))
        do throws(CoderError) {
            var info = try decoder.readHeader()
            info.hasItems = false
            info.decodesRows = false
            return (decoder, info)
        } catch { throw .refused("the thumbnail is damaged: \(error.message)") }
    }
}
