import CoderPluginKit
import ImageModel
import JPEGShim

/// One run of libjpeg-turbo's compressor into a sink.
@safe final class JPEGCompressor {
    /// The settings of the compressor.
    struct Settings {
        var size: PixelSize
        var format: PixelFormat
        var quality = 90
        /// Luma samples for one chroma sample, across and down; an image without chroma ignores it.
        var subsampling = (across: 2, down: 2)
        var isProgressive = false
        var optimizes = false
        var isArithmetic = false
        var density: PixelDensity?

        /// The components of the file: RGB is stored as luma and two chroma components.
        private var components: Int { format.channels.hasAlpha ? format.channels.count - 1 : format.channels.count }

        /// The largest sampling factors (T.81, A.1.1): only luma has factors above one.
        var largestFactors: (across: Int, down: Int) { components == 3 ? subsampling : (1, 1) }

        /// The bytes of coefficients that the library keeps: all of them if it processes the image twice.
        ///
        /// - Source: libjpeg-turbo, jinit_c_coef_controller; a block has 64 coefficients of 2 bytes (T.81, A.1).
        var coefficientBytes: Int {
            guard isProgressive || optimizes else { return 0 }
            let (across, down) = largestFactors
            let units = ((size.width + 8 * across - 1) / (8 * across)) * ((size.height + 8 * down - 1) / (8 * down))
            return units * (across * down + components - 1) * 128
        }
    }

    /// The receiver of the library's callbacks; C holds it unretained during the lifetime of the compressor.
    @safe private final class Output {
        let write: (UnsafeBufferPointer<UInt8>) -> CoderError?
        let host: HostServices
        var error: CoderError?

        init(_ host: HostServices, _ write: @escaping (UnsafeBufferPointer<UInt8>) -> CoderError?) {
            unsafe self.write = write
            self.host = host
        }
    }

    private let output: Output
    private let encoder: OpaquePointer

    /// - Throws: `.outOfMemory`.
    convenience init(_ sink: ByteSink, _ host: HostServices) throws(CoderError) {
        unsafe try self.init(host) { unsafe ByteSink.error(sink.write($0)) }
    }

    /// A compressor that passes on its bytes piece by piece; an error ends it.
    ///
    /// - Throws: `.outOfMemory`.
    init(
        _ host: HostServices, write: @escaping (UnsafeBufferPointer<UInt8>) -> CoderError?
    ) throws(CoderError) {
        output = unsafe Output(host, write)
        var callbacks = unsafe jpegs_callbacks(
            context: Unmanaged.passUnretained(output).toOpaque(),
            write: { context, bytes, count in
                let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                output.error = unsafe output.write(UnsafeBufferPointer(start: bytes, count: count))
                return output.error == nil ? 0 : 1
            },
            poll: { context in
                let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                do throws(CoderError) {
                    try output.host.checkCancellation()
                    return 0
                } catch {
                    output.error = error
                    return 1
                }
            })
        guard let encoder = unsafe jpegs_encoder_new(&callbacks) else {
            throw CoderError(.outOfMemory, "not enough memory for a JPEG encoder", domain: JPEGLibrary.name)
        }
        unsafe self.encoder = encoder
    }

    deinit { unsafe jpegs_encoder_free(encoder) }

    /// Writes everything up to the metadata.
    ///
    /// The corresponding C function is `jpeg_start_compress`.
    func start(_ settings: Settings) throws(CoderError) {
        var raw = jpegs_settings()
        raw.width = UInt32(settings.size.width)
        raw.height = UInt32(settings.size.height)
        raw.format = JPEGLibrary.code(settings.format)
        raw.quality = UInt32(settings.quality)
        raw.horizontal = UInt32(settings.subsampling.across)
        raw.vertical = UInt32(settings.subsampling.down)
        raw.progressive = settings.isProgressive ? 1 : 0
        raw.optimize = settings.optimizes ? 1 : 0
        raw.arithmetic = settings.isArithmetic ? 1 : 0
        let (unit, x, y) = Self.density(settings.density)
        raw.density_unit = unit
        raw.density_x = x
        raw.density_y = y
        try check(unsafe jpegs_encoder_start(encoder, &raw))
    }

    /// Begins a file with the coefficients of another file instead of pixels.
    ///
    /// The corresponding C function is `jpeg_write_coefficients`.
    func start(_ decompressor: JPEGDecompressor, process: UInt32) throws(CoderError) {
        try check(unsafe jpegs_encoder_coefficients(encoder, decompressor.decoder, process))
    }

    /// Writes an APPn segment of at most 65533 bytes.
    ///
    /// The corresponding C function is `jpeg_write_marker`.
    func write(marker: UInt8, _ bytes: [UInt8]) throws(CoderError) {
        try check(unsafe jpegs_encoder_marker(encoder, UInt32(marker), bytes, UInt32(bytes.count)))
    }

    /// Writes an ICC profile, in as many segments as it needs.
    ///
    /// The corresponding C function is `jpeg_write_icc_profile`.
    func write(profile: [UInt8]) throws(CoderError) {
        try check(unsafe jpegs_encoder_icc(encoder, profile, UInt32(profile.count)))
    }

    /// Encodes `count` rows of the surface from `row` on.
    ///
    /// The corresponding C function is `jpeg_write_scanlines`.
    func rows(of surface: borrowing Surface, from row: Int, count: Int) throws(CoderError) {
        let start = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self) + row * surface.stride
        try check(unsafe jpegs_encoder_rows(encoder, start, surface.stride, UInt32(count)))
    }

    /// The corresponding C function is `jpeg_finish_compress`.
    func finish() throws(CoderError) { try check(unsafe jpegs_encoder_finish(encoder)) }

    private func check(_ status: Int32) throws(CoderError) {
        if status == JPEGS_OK { return }
        if let error = output.error { throw error }
        throw JPEGLibrary.error(status, unsafe String(cString: jpegs_encoder_message(encoder)))
    }

    /// The JFIF unit and numbers; dots per centimeter if these are whole numbers, else per inch.
    ///
    /// - Source: JFIF 1.02, "units", "Xdensity", "Ydensity"; each number has 16 bits.
    private static func density(_ density: PixelDensity?) -> (UInt32, UInt32, UInt32) {
        let unit: UInt32
        var (x, y): (UInt32, UInt32)
        switch density {
        case .aspect(let across, let down): (unit, x, y) = (0, across, down)
        case .perMeter(let across, let down) where across % 100 == 0 && down % 100 == 0:
            (unit, x, y) = (2, across / 100, down / 100)
        case .perMeter(let across, let down):
            (unit, x, y) = (1, JPEGLibrary.perInch(meter: across), JPEGLibrary.perInch(meter: down))
        case nil: (unit, x, y) = (0, 1, 1)
        }
        let isStorable = (1...65_535).contains(x) && (1...65_535).contains(y)
        return isStorable ? (unit, x, y) : (0, 1, 1)
    }
}
