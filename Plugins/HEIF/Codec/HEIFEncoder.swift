public import CoderPluginKit
public import ImageModel

/// Encodes a still image as HEIC, with x265.
public final class HEICEncoder: ThumbnailEncoder {
    private let core: HEIFEncoder

    public init(_ session: EncoderSession) throws(CoderError) {
        core = HEIFEncoder(session, name: "heif", isAV1: false)
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] { core.formats(for: info) }
    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) { try core.begin(info, to: sink) }
    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { core.add(blob) }
    public func addThumbnail(pixels surface: borrowing Surface) throws(CoderError) {
        try core.addThumbnail(surface)
    }
    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        try core.add(surface)
    }
    public func finish() throws(CoderError) { try core.finish() }
}

/// Encodes a still image as AVIF, with aom.
public final class AVIFEncoder: ThumbnailEncoder {
    private let core: HEIFEncoder

    public init(_ session: EncoderSession) throws(CoderError) {
        core = HEIFEncoder(session, name: "heif-avif", isAV1: true)
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] { core.formats(for: info) }
    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) { try core.begin(info, to: sink) }
    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { core.add(blob) }
    public func addThumbnail(pixels surface: borrowing Surface) throws(CoderError) {
        try core.addThumbnail(surface)
    }
    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        try core.add(surface)
    }
    public func finish() throws(CoderError) { try core.finish() }
}

/// The part that both encoders share: everything except the name.
final class HEIFEncoder {
    private let session: EncoderSession
    private let name: String
    private let isAV1: Bool
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var blobs: [MetadataBlob] = []
    private var thumbnail: PixelBuffer?
    private var writer: HEIFWriter?

    init(_ session: EncoderSession, name: String, isAV1: Bool) {
        self.session = session
        self.name = name
        self.isAV1 = isAV1
    }

    /// Gray stays one plane; the file records whether alpha is straight or premultiplied.
    func formats(for info: ImageInfo) -> [PixelFormat] {
        let native = info.nativeFormat
        let bits = native.bits > 8 || native.numeric == .float ? 16 : 8
        if native.channels == .gray { return [PixelFormat(.gray, bits: bits), PixelFormat(.rgb, bits: bits)] }
        if !native.hasTransparency { return [PixelFormat(.rgb, bits: bits)] }
        let alpha: PixelFormat.Alpha = native.alpha == .premultiplied ? .premultiplied : .straight
        return [PixelFormat(.rgba, bits: bits, alpha: alpha)]
    }

    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        // libaom's own bound; x265 pads to whole blocks below its level's bound.
        let longest = max(info.size.width, info.size.height)
        guard !info.size.isEmpty, longest <= 65_535 else {
            throw .invalidArgument("an image of \(info.size) pixels does not fit into the format")
        }
        let settings = try EncodeSettings(session, name: name, isAV1: isAV1, info: info)
        writer = try HEIFWriter(settings, isPremultiplied: info.nativeFormat.alpha == .premultiplied)
        self.info = info
        self.sink = sink
    }

    func add(_ blob: MetadataBlob) -> Bool {
        guard [.exif, .xmp, .icc].contains(blob.kind) else { return false }
        // libheif searches for the TIFF header and refuses bytes without one.
        if blob.kind == .exif, !Self.isTIFF(blob.bytes) { return false }
        if blob.bytes.isEmpty { return false }
        blobs.append(blob)
        return true
    }

    func addThumbnail(_ surface: borrowing Surface) throws(CoderError) {
        guard let info, writer?.hasImage == false else { throw CoderError(.misuse, "the thumbnail comes too late") }
        // MIAF (ISO/IEC 23000-22) does not allow a thumbnail that is larger than its image.
        guard surface.size.width <= info.size.width, surface.size.height <= info.size.height else {
            throw .refused("the thumbnail is larger than the image")
        }
        thumbnail = try surface.copy()
    }

    func add(_ surface: borrowing Surface) throws(CoderError) {
        guard let info, let writer, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the session")
        }
        guard !writer.hasImage else { throw .unsupported("more than one frame") }
        try session.host.checkCancellation()
        // RGB planes, then the encoder's own planes and the converted ones; measured.
        let area = (info.size.area ?? 0) + (thumbnail?.size.area ?? 0)
        let bytes = area * (surface.format.bits > 8 ? 2 : 1) * 17
        try session.host.reserve(bytes: bytes)
        defer { try? session.host.reserve(bytes: -bytes) }
        try writer.encode(surface, thumbnail: thumbnail, profile: blobs.first { $0.kind == .icc }?.bytes ?? [])
        try session.host.checkCancellation()
    }

    func finish() throws(CoderError) {
        guard let sink, let writer, writer.hasImage else { throw CoderError(.misuse, "no frame was added") }
        for blob in blobs where blob.kind != .icc { try writer.add(blob) }
        try writer.write(to: sink)
    }

    private static func isTIFF(_ bytes: [UInt8]) -> Bool {
        bytes.count > 8 && (bytes.starts(with: [0x49, 0x49, 0x2A, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 0x2A]))
    }
}
