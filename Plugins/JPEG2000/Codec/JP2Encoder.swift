public import CoderPluginKit
public import ImageModel

/// Encodes JPEG 2000: a JP2 file or a bare codestream, lossless or by quality or ratio.
///
/// - Source: ISO/IEC 15444-1.
public final class JP2Encoder: ImageEncoder {
    private let session: EncoderSession
    private let settings: EncodeSettings
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var blobs: [MetadataBlob] = []
    private var isDone = false

    public init(_ session: EncoderSession) throws(CoderError) {
        self.session = session
        settings = try EncodeSettings(session.options)
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        let isOpaque = !native.hasTransparency
        let channels: PixelFormat.Channels =
            switch native.channels {
            case .gray: .gray
            case .grayAlpha: isOpaque ? .gray : .grayAlpha
            case .rgb: .rgb
            case .rgba, .bgra: isOpaque ? .rgb : .rgba
            // A bare codestream cannot state that its colors are inks.
            case .cmyk: settings.isBare ? .rgb : .cmyk
            }
        let bits = native.bits == 8 ? 8 : 16
        return [PixelFormat(channels, bits: bits, alpha: native.alpha)]
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard !info.size.isEmpty, info.size.width < 1 << 31, info.size.height < 1 << 31, let area = info.size.area,
            area < 1 << 40
        else { throw .invalidArgument("an image of \(info.size) pixels cannot be written as JPEG 2000") }
        if settings.tile > 0 {
            let across = (info.size.width - 1) / settings.tile + 1
            let down = (info.size.height - 1) / settings.tile + 1
            guard across * down <= 65_535 else {
                throw .invalidArgument(
                    "jp2.tile \(settings.tile) makes more than 65535 tiles", hint: "choose a larger jp2.tile")
            }
        }
        guard try acceptedFormats(for: info).contains(info.nativeFormat) else {
            throw CoderError(.misuse, "the pixels do not have the format of the session")
        }
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard !settings.isBare, [.exif, .xmp, .icc, .iptc].contains(blob.kind), !blob.bytes.isEmpty else {
            return false
        }
        blobs.append(blob)
        return true
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let sink, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the session")
        }
        if isDone { throw .unsupported("a second frame") }
        try session.host.checkCancellation()
        // Samples, coefficients and the output.
        let memory = (info.size.area ?? 1 << 40) * info.nativeFormat.channels.count * 12
        try session.host.reserve(bytes: memory)
        let output = try CodestreamWriter(surface, settings, session)
        if !settings.isBare {
            try sink.write(FileHeader(info, blobs, session.host).bytes(codestreamCount: output.count))
        }
        try output.write(to: sink)
        try session.host.reserve(bytes: -memory)
        session.host.progress(1, of: 1)
        isDone = true
    }

    public func finish() throws(CoderError) {
        if !isDone { throw CoderError(.misuse, "no frame was added") }
    }
}
