internal import CoderPluginKit
internal import HEIFShim
internal import ISOBoxes
internal import ImageModel

/// libheif with one open image of a file: decodes the image into planes and copies rows from them.
///
/// - Ownership: borrows the source's bytes; frees all libheif objects when it is deinitialized.
@safe final class HEIFPlanes {
    struct Decoded {
        let size: PixelSize
        /// Whether the stream of a gray image declares limited range.
        let isLimitedRange: Bool
        /// Whether a clean aperture outside the image was ignored.
        let skippedCrop: Bool
        /// Whether the coded data lacks parts, which are gray.
        let hasGaps: Bool
        /// The first warning of the HEVC decoder.
        let warning: String?
    }

    private var decoder: OpaquePointer?
    private let poll: CancellationPoll

    /// - Parameter excerpt: the boxes that the library reads, in front of the source; copied.
    init(
        _ session: DecoderSession, _ arrived: ArrivedBytes, _ excerpt: Excerpt, maxSide: Int, threads: Int
    ) throws(CoderError) {
        poll = CancellationPoll(session.host)
        var error = heif_shim_error()
        let code = unsafe heif_shim_open(
            arrived.start, UInt64(min(arrived.count, excerpt.dataCount)), excerpt.prefix, UInt64(excerpt.prefix.count),
            UInt32(clamping: maxSide), UInt32(threads), UInt64(session.limits.maxPixels), &decoder, &error)
        if code != 0 { throw .heif(error) }
    }

    deinit { unsafe heif_shim_close(decoder) }

    /// Decodes the image.
    ///
    /// - Parameter asGray: whether to decode only the luma instead of RGB.
    func decode(_ image: Image, asGray: Bool) throws(CoderError) -> Decoded {
        var found = heif_shim_planes()
        var error = heif_shim_error()
        let code = unsafe heif_shim_decode(
            decoder, asGray ? 1 : 0, image.isAV1 ? 1 : 0, image.isOnlyCropped ? 1 : 0,
            poll.callback, poll.context, &found, &error)
        if code == heif_shim_code_stopped, let reason = poll.error { throw reason }
        if code != 0 { throw .heif(error) }
        let warning = unsafe withUnsafeBytes(of: found.warning) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Decoded(
            size: PixelSize(Int(found.width), Int(found.height)),
            isLimitedRange: found.has_range != 0 && found.full_range == 0, skippedCrop: found.skipped_crop != 0,
            hasGaps: found.is_uncovered != 0, warning: warning.isEmpty ? nil : warning)
    }

    /// Copies a part of the image into a surface.
    ///
    /// - Parameters:
    ///   - right: the step in the surface for one pixel to the right in the image; `down` likewise.
    ///   - isAlpha: whether the image is the alpha channel of the pixels in the surface.
    func paint(
        _ place: TilePlan.Place, right: Placement.Step = Placement.Step(1, 0),
        down: Placement.Step = Placement.Step(0, 1),
        isAlpha: Bool = false, expandingRange: Bool = false, into target: PaintTarget
    ) throws(CoderError) {
        let layout = heif_shim_layout(
            channels: target.format.channels.rawValue, bits: UInt8(target.format.bits),
            expand_range: expandingRange ? 1 : 0, only_alpha: isAlpha ? 1 : 0)
        let (width, height) = (place.part.width, place.part.height)
        // The surface contains both corners, which is checked there, and so all pixels between them.
        _ = unsafe target.pixel(
            place.target.x + (width - 1) * right.x + (height - 1) * down.x,
            place.target.y + (width - 1) * right.y + (height - 1) * down.y)
        func bytes(_ step: Placement.Step) -> Int64 {
            Int64(step.y * target.stride + step.x * target.format.bytesPerPixel)
        }
        let code = unsafe heif_shim_paint(
            decoder, UInt32(place.part.x), UInt32(place.part.y), UInt32(width), UInt32(height), layout,
            target.pixel(place.target.x, place.target.y), bytes(right), bytes(down))
        if code != 0 { throw .corrupt("the decoded image has other channels than the file declares") }
    }
}

extension CoderError {
    /// Returns the numbers in "Image size 70000x0 exceeds the maximum image size 4096x4096"; nil without numbers.
    private static func limit(_ message: String) -> Limit? {
        let numbers = message.split { !$0.isWholeNumber }.compactMap { UInt64($0) }
        guard let most = numbers.max(), let allowed = numbers.last, most > allowed else { return nil }
        return Limit(name: message.hasPrefix("Image size") ? "side" : "libheif", allowed: allowed, requested: most)
    }

    /// Translates an error of libheif.
    static func heif(_ error: heif_shim_error) -> CoderError {
        let message = unsafe withUnsafeBytes(of: error.message) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let code: Code =
            switch (error.code, error.subcode) {
            case (_, heif_shim_code_security_limit): .limitExceeded
            case (_, heif_shim_code_end_of_data): .truncated
            case (heif_shim_code_unsupported_filetype, _): .notMine
            case (heif_shim_code_unsupported_feature, _): .unsupportedFeature
            case (heif_shim_code_memory, _): .outOfMemory
            default: .corrupt
            }
        return CoderError(
            code, message.isEmpty ? "the coded data is damaged" : message, domain: "libheif",
            feature: code == .unsupportedFeature ? message : nil, limit: code == .limitExceeded ? limit(message) : nil)
    }
}
