public import CoderPluginKit
public import ImageModel

/// Encodes WebP stills, lossy and lossless, with alpha.
///
/// - Source: RFC 9649 (container and lossless bitstream); RFC 6386 (VP8).
public final class WebPEncoder: ImageEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var exif: [UInt8]?
    private var xmp: [UInt8]?
    private var profile: [UInt8]?
    private var isWritten = false

    /// The sides of a VP8 frame have 14 bits.
    ///
    /// - Source: RFC 6386 section 9.1; RFC 9649 section 3.4.
    private static let maxSide = 16_383

    public init(_ session: EncoderSession) throws(CoderError) { self.session = session }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        switch native.channels {
        case .rgba where native.alpha == .opaque: return [PixelFormat(.rgba, alpha: .opaque), .rgb8]
        case .bgra where native.alpha == .opaque: return [PixelFormat(.bgra, alpha: .opaque), .rgb8]
        case .bgra: return [.bgra8, .rgba8]
        case .rgba: return [.rgba8, .bgra8]
        case .grayAlpha: return native.alpha == .opaque ? [.rgb8] : [.rgba8, .bgra8]
        case .gray, .rgb, .cmyk: return [.rgb8]
        }
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        let size = info.size
        guard !size.isEmpty, max(size.width, size.height) <= Self.maxSide else {
            throw .invalidArgument(
                "a WebP has sides of 1 to \(Self.maxSide) pixels, not \(size)", hint: "scale the image down")
        }
        guard try acceptedFormats(for: info).contains(info.nativeFormat) else {
            throw .invalidArgument("WebP is not encoded from \(info.nativeFormat)")
        }
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        switch blob.kind {
        case .exif: exif = blob.bytes
        case .xmp: xmp = blob.bytes
        case .icc: profile = blob.bytes
        default: return false
        }
        return true
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let sink, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the frame differs from the header")
        }
        if isWritten { throw .unsupported("a second frame") }
        let compressor = try WebPCompressor(sink, session.host)
        try Self.configure(compressor, session.options, maxThreads: session.limits.maxThreads)
        if let profile { try compressor.add(.profile, profile) }
        if let exif { try compressor.add(.exif, oriented(exif, info.orientation)) }
        if let xmp { try compressor.add(.xmp, xmp) }

        let reserved = compressor.byteCount(of: info.size, hasAlpha: info.nativeFormat.channels.hasAlpha)
        try session.host.reserve(bytes: reserved)
        try compressor.encode(surface)
        try session.host.reserve(bytes: -reserved)
        isWritten = true
    }

    public func finish() throws(CoderError) {
        if !isWritten { throw CoderError(.misuse, "no frame was added") }
    }

    /// Applies the options, and keeps the library's defaults for the others.
    ///
    /// - Throws: `.invalidArgument`.
    package static func configure(
        _ compressor: WebPCompressor, _ options: CoderOptions, maxThreads: Int = 0
    ) throws(CoderError) {
        func fill(_ key: String, _ value: Double) {
            if let knob = WebPCompressor.knob(key) { compressor[knob] = value }
        }
        // The meaning of the shared options here; a `webp.` key overrides them.
        if let effort = options.integer(OptionKey.effort) {
            guard (0...9).contains(effort) else { throw .invalidArgument("effort \(effort) is not in 0 … 9") }
            fill("webp.method", (Double(effort) * 6 / 9).rounded())
        }
        if (options.integer(OptionKey.threads) ?? 1) > 1 { fill("webp.thread-level", 1) }
        // The library reaches a target by several passes; one pass would ignore it.
        let target = max(options.real("webp.target-size") ?? 0, options.real("webp.target-psnr") ?? 0)
        if target > 0 { fill("webp.pass", 6) }

        for knob in WebPCompressor.knobs {
            guard let value = knob.value(options) else { continue }
            let before = compressor[knob]
            compressor[knob] = value
            if !compressor.isValid {
                compressor[knob] = before
                throw .invalidArgument("invalid \(knob.key) \(options[knob.key]?.description ?? "")")
            }
        }
        if maxThreads == 1 { fill("webp.thread-level", 0) }
    }

    /// Returns the Exif data with the orientation of the encoded pixels.
    private func oriented(_ exif: [UInt8], _ orientation: Orientation?) -> [UInt8] {
        orientation.map { ExifOrientation.replacing(exif, with: $0) } ?? exif
    }
}
