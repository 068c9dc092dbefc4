package import CoderPluginKit
package import ImageModel
import WebPShim

/// One run of libwebp's encoder into a sink.
@safe package final class WebPCompressor {
    /// The options that set a member of `WebPConfig`.
    package static let knobs: [WebPKnob] = [
        WebPKnob(OptionKey.lossless, .flag, WEBPS_LOSSLESS),
        WebPKnob(OptionKey.quality, .real, WEBPS_QUALITY),
        WebPKnob("webp.method", .integer, WEBPS_METHOD),
        WebPKnob("webp.target-size", .integer, WEBPS_TARGET_SIZE),
        WebPKnob("webp.target-psnr", .real, WEBPS_TARGET_PSNR),
        WebPKnob("webp.segments", .integer, WEBPS_SEGMENTS),
        WebPKnob("webp.sns-strength", .integer, WEBPS_SNS_STRENGTH),
        WebPKnob("webp.filter-strength", .integer, WEBPS_FILTER_STRENGTH),
        WebPKnob("webp.filter-sharpness", .integer, WEBPS_FILTER_SHARPNESS),
        WebPKnob("webp.filter-type", .integer, WEBPS_FILTER_TYPE),
        WebPKnob("webp.autofilter", .flag, WEBPS_AUTOFILTER),
        WebPKnob("webp.alpha-compression", .integer, WEBPS_ALPHA_COMPRESSION),
        WebPKnob("webp.alpha-filtering", .integer, WEBPS_ALPHA_FILTERING),
        WebPKnob("webp.alpha-quality", .integer, WEBPS_ALPHA_QUALITY),
        WebPKnob("webp.pass", .integer, WEBPS_PASS),
        WebPKnob("webp.show-compressed", .flag, WEBPS_SHOW_COMPRESSED),
        WebPKnob("webp.preprocessing", .integer, WEBPS_PREPROCESSING),
        WebPKnob("webp.partitions", .integer, WEBPS_PARTITIONS),
        WebPKnob("webp.partition-limit", .integer, WEBPS_PARTITION_LIMIT),
        WebPKnob("webp.thread-level", .integer, WEBPS_THREAD_LEVEL),
        WebPKnob("webp.low-memory", .flag, WEBPS_LOW_MEMORY),
        WebPKnob("webp.near-lossless", .integer, WEBPS_NEAR_LOSSLESS),
        WebPKnob("webp.exact", .flag, WEBPS_EXACT),
        WebPKnob("webp.use-sharp-yuv", .flag, WEBPS_USE_SHARP_YUV),
    ]

    /// The receiver of the library's callbacks; C holds it unretained during the lifetime of the compressor.
    private final class Output {
        let sink: ByteSink
        let host: HostServices
        var error: CoderError?

        init(_ sink: ByteSink, _ host: HostServices) {
            self.sink = sink
            self.host = host
        }
    }

    private let output: Output
    private let encoder: OpaquePointer

    /// - Throws: `.outOfMemory`.
    package init(_ sink: ByteSink, _ host: HostServices) throws(CoderError) {
        output = Output(sink, host)
        var callbacks = unsafe webps_callbacks(
            context: Unmanaged.passUnretained(output).toOpaque(),
            write: { context, bytes, count in
                let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                // The library may continue after a refused piece, and a smaller one may fit.
                if output.error == nil {
                    output.error = unsafe ByteSink.error(
                        output.sink.write(UnsafeBufferPointer(start: bytes, count: count)))
                }
                return output.error == nil ? 0 : 1
            },
            progress: { context, percent in
                let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                do throws(CoderError) {
                    try output.host.checkCancellation()
                    output.host.progress(Int(percent), of: 100)
                    return 0
                } catch {
                    output.error = error
                    return 1
                }
            })
        guard let encoder = unsafe webps_encoder_new(&callbacks) else {
            throw WebPLibrary.error(WEBPS_NO_MEMORY)
        }
        unsafe self.encoder = encoder
    }

    deinit { unsafe webps_encoder_free(encoder) }

    /// Returns the value of the `WebPConfig` member of a knob.
    package subscript(knob: WebPKnob) -> Double {
        get { unsafe webps_encoder_get(encoder, knob.number) }
        set { unsafe webps_encoder_set(encoder, knob.number, newValue) }
    }

    /// The knob of an option.
    package static func knob(_ key: String) -> WebPKnob? { knobs.first { $0.key == key } }

    /// Whether the settings are legal, separately and together.
    ///
    /// The corresponding C function is `WebPValidateConfig`.
    package var isValid: Bool { unsafe webps_encoder_is_valid(encoder) != 0 }

    /// The memory that the library needs to encode an image with any settings.
    ///
    /// Evidence: peak memory for 7 megapixels, without the pixels, with libwebp 1.2.4. Bytes per pixel: lossless 12.7
    /// with method 0 and 21 with 4 and 6; lossy with alpha, which is coded lossless, 16 to 22; sharp YUV 12.6; lossy 4.
    package static func mostBytes(for size: PixelSize) -> Int { (size.area ?? 0) * 22 }

    /// The memory that the library needs to encode an image with these settings.
    func byteCount(of size: PixelSize, hasAlpha: Bool) -> Int {
        func isOn(_ key: String) -> Bool { Self.knob(key).map { self[$0] > 0 } ?? false }
        let isLossless = isOn(OptionKey.lossless)
        if (isLossless || hasAlpha) && isOn("webp.method") { return Self.mostBytes(for: size) }
        let isARGB = isOn("webp.use-sharp-yuv") || isOn("webp.preprocessing")
        return (size.area ?? 0) * (hasAlpha && !isLossless ? 17 : isLossless || isARGB ? 13 : 4)
    }

    /// Adds a metadata chunk to be written with the image.
    ///
    /// The corresponding C function is `WebPMuxSetChunk`.
    func add(_ kind: WebPContainer.Chunk, _ bytes: [UInt8]) throws(CoderError) {
        try check(unsafe webps_encoder_chunk(encoder, kind.rawValue, bytes, bytes.count))
    }

    /// Encodes the surface and writes the whole file.
    ///
    /// The corresponding C functions are `WebPEncode` and `WebPMuxAssemble`.
    func encode(_ surface: borrowing Surface) throws(CoderError) {
        let pixels = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        try check(
            unsafe webps_encoder_encode(
                encoder, Self.code(surface.format), pixels, surface.stride, UInt32(surface.size.width),
                UInt32(surface.size.height)))
    }

    /// Runs a call of the library with this encoder.
    @unsafe
    func run(_ call: (OpaquePointer) -> Int32) throws(CoderError) {
        try check(unsafe call(encoder))
    }

    private func check(_ status: Int32) throws(CoderError) {
        if status == WEBPS_OK { return }
        if let error = output.error { throw error }
        throw WebPLibrary.error(status)
    }

    static func code(_ format: PixelFormat) -> UInt32 {
        switch (format.channels, format.alpha) {
        case (.rgba, .opaque): WEBPS_RGBX
        case (.rgba, _): WEBPS_RGBA
        case (.bgra, .opaque): WEBPS_BGRX
        case (.bgra, _): WEBPS_BGRA
        default: WEBPS_RGB
        }
    }
}
