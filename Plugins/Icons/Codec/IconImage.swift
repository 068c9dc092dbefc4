import CoderPluginKit
import ImageModel
import PNGCodec

/// One image of an icon, as a PNG, a bitmap or packed channels.
protocol IconImage {
    var info: ImageInfo { get }
    /// The number of stored bits of a pixel.
    var depth: Int { get }
    /// The formats that `decode` can produce, best first.
    var formats: [PixelFormat] { get }
    func metadata() throws(CoderError) -> [MetadataBlob]
    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome
}

extension IconImage {
    var formats: [PixelFormat] { [.rgba8] }
    func metadata() throws(CoderError) -> [MetadataBlob] { [] }
}

/// A PNG within an icon.
struct PNGIcon: IconImage {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    let info: ImageInfo
    private let decoder: PNGDecoder

    /// - Parameter bytes: the place of the PNG in the source.
    init(_ session: DecoderSession, _ bytes: Range<Int>) throws(CoderError) {
        decoder = try PNGDecoder(
            DecoderSession(
                source: session.source.window(bytes), options: session.options, limits: session.limits,
                host: session.host))
        var info = try decoder.readHeader()
        info.decodesRows = false
        info.regionCost = .whole
        self.info = info
    }

    var depth: Int { 8 * info.nativeFormat.bytesPerPixel }

    var formats: [PixelFormat] { decoder.pixelFormats.isEmpty ? [info.nativeFormat] : decoder.pixelFormats }

    func metadata() throws(CoderError) -> [MetadataBlob] { try decoder.metadata() }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        try decoder.decode(request, into: surface)
    }
}
