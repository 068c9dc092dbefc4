internal import CoderPluginKit
internal import ImageModel
internal import JPEG2000Shim

/// A codestream that OpenJPEG encoded, in memory.
@safe final class CodestreamWriter {
    private let encoder: OpaquePointer
    private let host: HostServices

    private static let pieceCount = 1 << 20

    /// Encodes a surface.
    ///
    /// - Throws: `.outOfMemory`, `.limitExceeded`, `.invalidArgument`, `.cancelled`, `.deadlineExceeded`.
    init(_ surface: borrowing Surface, _ settings: EncodeSettings, _ session: EncoderSession) throws(CoderError) {
        host = session.host
        let format = surface.format
        let colors = format.channels.count - (format.channels.hasAlpha ? 1 : 0)
        var raw = jp2_shim_settings(
            width: UInt32(surface.size.width), height: UInt32(surface.size.height),
            channels: UInt32(format.channels.count), bits: UInt32(format.bits),
            levels: UInt32(settings.levels(for: surface.size)), tile: UInt32(settings.tile),
            progression: UInt32(settings.progression.number), is_lossless: settings.isLossless ? 1 : 0,
            mixes_colors: colors == 3 ? 1 : 0, ratio: Float(settings.ratio), fidelity: Float(settings.fidelity),
            limit: UInt64(max(0, session.limits.maxOutputBytes)))
        guard let encoder = unsafe jp2_shim_encoder_new(&raw) else {
            throw CoderError(.outOfMemory, "there is not enough memory")
        }
        unsafe self.encoder = encoder
        // If the initializer throws from here on, `deinit` frees the encoder.
        for channel in 0..<format.channels.count { try unsafe Self.fill(encoder, surface, channel, session.host) }
        let status = unsafe jp2_shim_encode(encoder)
        if status != 0 { throw unsafe Self.error(encoder, status) }
    }

    deinit { unsafe jp2_shim_encoder_free(encoder) }

    private static func fill(
        _ encoder: OpaquePointer, _ surface: borrowing Surface, _ channel: Int, _ host: HostServices
    ) throws(CoderError) {
        guard let plane = unsafe jp2_shim_encoder_plane(encoder, UInt32(channel)) else {
            throw CoderError(.outOfMemory, "there is not enough memory")
        }
        let (width, count, isDeep) = (surface.size.width, surface.format.channels.count, surface.format.bits == 16)
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            let target = unsafe plane + y * width
            surface.withRow(y) { row in
                unsafe row.withUnsafeBytes { bytes in
                    if isDeep {
                        for x in 0..<width {
                            unsafe target[x] = Int32(
                                bytes.loadUnaligned(fromByteOffset: 2 * (x * count + channel), as: UInt16.self))
                        }
                    } else {
                        for x in 0..<width { unsafe target[x] = Int32(bytes[x * count + channel]) }
                    }
                }
            }
        }
    }

    private static func error(_ encoder: OpaquePointer, _ status: Int32) -> CoderError {
        if unsafe jp2_shim_encoder_overflowed(encoder) != 0 {
            return CoderError(.limitExceeded, "the output grows above its limit")
        }
        let message = unsafe String(cString: jp2_shim_encoder_error(encoder))
        if status == jp2_shim_no_memory { return CoderError(.outOfMemory, "there is not enough memory") }
        var error = CoderError.invalidArgument(
            message.isEmpty ? "OpenJPEG refuses the settings" : "OpenJPEG refuses the settings: \(message)")
        error.domain = "OpenJPEG"
        return error
    }

    /// The number of bytes.
    var count: Int {
        var count: UInt64 = 0
        _ = unsafe jp2_shim_encoder_output(encoder, &count)
        return Int(count)
    }

    func write(to sink: ByteSink) throws(CoderError) {
        var count: UInt64 = 0
        guard let start = unsafe jp2_shim_encoder_output(encoder, &count) else { return }
        for offset in stride(from: 0, to: Int(count), by: Self.pieceCount) {
            try host.checkCancellation()
            let piece = unsafe UnsafeBufferPointer(
                start: start + offset, count: min(Self.pieceCount, Int(count) - offset))
            let status = unsafe sink.write(piece)
            if let error = ByteSink.error(status) { throw error }
        }
    }
}
