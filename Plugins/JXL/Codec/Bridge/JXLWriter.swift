internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// An encoder of libjxl and the output that it makes.
///
/// - Ownership: libjxl copies frames, boxes and profiles; the writer keeps no reference to them.
@safe final class JXLWriter {
    private let encoder: OpaquePointer
    private let runner: HostRunner
    private let host: HostServices

    private static let pieceCount = 256 << 10

    /// - Parameter isParallel: whether to use the host's threads; transcoders have no session, so they must not.
    init(_ host: HostServices, isParallel: Bool = false) throws(CoderError) {
        self.host = host
        runner = HostRunner(host, isParallel: isParallel, maySkip: false)
        guard let made = unsafe jxl_shim_encoder_new(runner.function, runner.context) else {
            throw CoderError(.outOfMemory, "there is not enough memory")
        }
        unsafe encoder = made
    }

    deinit { unsafe jxl_shim_encoder_free(encoder) }

    func begin(_ settings: EncodeSettings, _ info: ImageInfo, hasBoxes: Bool) throws(CoderError) {
        let format = info.nativeFormat
        var raw = jxl_shim_settings(
            width: UInt32(info.size.width), height: UInt32(info.size.height), channels: UInt32(format.channels.count),
            sample: PixelMemory.sample(format), orientation: UInt32((info.orientation ?? .up).rawValue),
            is_lossless: settings.isLossless ? 1 : 0,
            is_progressive: settings.isProgressive ? 1 : 0, is_animated: settings.isAnimated ? 1 : 0,
            has_boxes: hasBoxes ? 1 : 0, effort: UInt32(settings.effort), speed: UInt32(settings.decodingSpeed),
            ticks: settings.isAnimated ? UInt32(settings.ticks) : 1, loops: UInt32(clamping: settings.loops),
            distance: Float(settings.distance))
        try check(unsafe jxl_shim_encoder_begin(encoder, &raw), "the settings")
    }

    func set(_ color: jxl_shim_color) throws(CoderError) {
        var color = color
        try check(unsafe jxl_shim_encoder_color(encoder, &color), "the colors")
    }

    /// Sets an ICC profile; false if the library cannot read it.
    func set(profile: [UInt8]) -> Bool { unsafe jxl_shim_encoder_profile(encoder, profile, UInt64(profile.count)) == 0 }

    func add(box type: String, _ bytes: [UInt8]) throws(CoderError) {
        let name = type.utf8.map { CChar(bitPattern: $0) }
        try check(unsafe jxl_shim_encoder_box(encoder, name, bytes, UInt64(bytes.count), 0), "the box \(type)")
    }

    func add(_ surface: borrowing Surface, ticks: UInt32) throws(CoderError) {
        var pixels = unsafe PixelMemory(surface).pixels
        try check(unsafe jxl_shim_encoder_frame(encoder, &pixels, ticks), "a frame")
    }

    /// Packs a JPEG stream as the only frame.
    ///
    /// - Throws: `.refused` for a stream that the library cannot pack, or cannot restore.
    func add(jpeg: ByteSource, effort: Int) throws(CoderError) {
        let status = jpeg.withBytes(0..<jpeg.available) { span in
            unsafe span.withUnsafeBytes { bytes in
                unsafe jxl_shim_encoder_jpeg(
                    encoder, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count),
                    UInt32(effort))
            }
        }
        if status != 0 { throw .refused("libjxl cannot pack this JPEG") }
    }

    /// Declares that no frame follows.
    func close() { unsafe jxl_shim_encoder_close(encoder) }

    /// Encodes the frames that were added, and hands out the output.
    func write(_ body: ([UInt8]) throws(CoderError) -> Void) throws(CoderError) {
        while true {
            try host.checkCancellation()
            var count = UInt64(Self.pieceCount)
            var status: Int32 = 0
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceCount) { buffer, filled in
                unsafe status = jxl_shim_encoder_write(encoder, buffer.baseAddress!, &count)
                filled = Int(count)
            }
            if let error = runner.error { throw error }
            if status == 1 { try check(1, "the image") }
            if !piece.isEmpty { try body(piece) }
            if status == 0 { return }
        }
    }

    private func check(_ status: Int32, _ subject: String) throws(CoderError) {
        if status == 0 { return }
        if let error = runner.error { throw error }
        switch unsafe jxl_shim_encoder_reason(encoder) {
        case jxl_shim_no_memory: throw CoderError(.outOfMemory, "there is not enough memory")
        case jxl_shim_unsupported: throw .unsupported("\(subject) in JPEG XL")
        case jxl_shim_no_jpeg, jxl_shim_bad_input: throw .refused("libjxl cannot pack this JPEG")
        default: throw .invalidArgument("libjxl refuses \(subject)")
        }
    }
}
