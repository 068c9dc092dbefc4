internal import CoderPluginKit
internal import HEIFShim
internal import ImageModel

/// A libheif encoder and the file that it makes.
///
/// - Ownership: keeps no reference to surfaces and blobs after a call.
@safe final class HEIFWriter {
    private var encoder: OpaquePointer?
    private(set) var hasImage = false

    init(_ settings: EncodeSettings, isPremultiplied: Bool) throws(CoderError) {
        var raw = heif_shim_settings(
            av1: settings.isAV1 ? 1 : 0, lossless: settings.isLossless ? 1 : 0, quality: UInt8(settings.quality),
            effort: UInt8(settings.effort), depth: UInt8(settings.depth), premultiplied: isPremultiplied ? 1 : 0,
            chroma: UInt16(settings.chroma), threads: UInt16(settings.threads),
            primaries: UInt16(settings.codePoints.primaries), transfer: UInt16(settings.codePoints.transfer),
            matrix: UInt16(settings.codePoints.matrix), thumbnail: UInt32(settings.thumbnail))
        var error = heif_shim_error()
        if unsafe heif_shim_encoder_new(&raw, &encoder, &error) != 0 { throw .heif(error) }
    }

    deinit { unsafe heif_shim_encoder_free(encoder) }

    /// Codes the image, and the thumbnail with it.
    func encode(
        _ surface: borrowing Surface, thumbnail: PixelBuffer?, profile: [UInt8]
    ) throws(CoderError) {
        var error = heif_shim_error()
        var pixels = unsafe Self.pixels(surface)
        let code: Int32
        if let thumbnail {
            let small = Surface(thumbnail)
            var other = unsafe Self.pixels(small)
            code = withExtendedLifetime(thumbnail) {
                unsafe heif_shim_encode(encoder, &pixels, &other, profile, UInt64(profile.count), &error)
            }
        } else {
            code = unsafe heif_shim_encode(encoder, &pixels, nil, profile, UInt64(profile.count), &error)
        }
        if code != 0 { throw .heifEncoding(error) }
        hasImage = true
    }

    private static func pixels(_ surface: borrowing Surface) -> heif_shim_pixels {
        unsafe heif_shim_pixels(
            bytes: UnsafePointer(surface.baseAddress.assumingMemoryBound(to: UInt8.self)),
            stride: UInt64(surface.stride), width: UInt32(surface.size.width), height: UInt32(surface.size.height),
            channels: surface.format.channels.rawValue, bits: UInt8(surface.format.bits))
    }

    /// Embeds Exif or XMP; the image must have been coded.
    func add(_ blob: MetadataBlob) throws(CoderError) {
        var error = heif_shim_error()
        let count = UInt64(blob.bytes.count)
        let code =
            blob.kind == .exif
            ? unsafe heif_shim_add_exif(encoder, blob.bytes, count, &error)
            : unsafe heif_shim_add_xmp(encoder, blob.bytes, count, &error)
        if code != 0 { throw .heifEncoding(error) }
    }

    func write(to sink: ByteSink) throws(CoderError) {
        var error = heif_shim_error()
        let output = Output(sink)
        let context = unsafe Unmanaged.passUnretained(output).toOpaque()
        let code = unsafe heif_shim_write(
            encoder, context,
            { context, bytes, count in
                let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                output.status = unsafe output.sink.write(UnsafeBufferPointer(start: bytes, count: Int(count)))
                return output.status
            }, &error)
        if let failure = ByteSink.error(output.status) { throw failure }
        if code != 0 { throw .heifEncoding(error) }
    }

    private final class Output {
        let sink: ByteSink
        var status: Int32 = 0
        init(_ sink: ByteSink) { self.sink = sink }
    }
}

extension CoderError {
    /// Translates an error; an encoder never reports corrupt input.
    fileprivate static func heifEncoding(_ error: heif_shim_error) -> CoderError {
        var failure = heif(error)
        if failure.code == .corrupt || failure.code == .notMine { failure.code = .unsupportedFeature }
        return failure
    }
}
