internal import CoderPluginKit
internal import ImageModel

/// The requested settings of an encoding session, checked against the limits of the format and of libheif 1.15.
struct EncodeSettings {
    let isAV1: Bool
    let isLossless: Bool
    let quality: Int
    let effort: Int
    let depth: Int
    let chroma: Int
    let threads: Int
    let thumbnail: Int
    let codePoints: CodePoints

    /// - Parameter name: the last part of the coder id, the prefix of its own options.
    init(
        _ session: EncoderSession, name: String, isAV1: Bool, info: ImageInfo
    ) throws(CoderError) {
        let options = session.options
        self.isAV1 = isAV1
        isLossless = options.bool(OptionKey.lossless) ?? false
        // AVIF of 60 is as similar to the source as WebP of its usual quality, in slightly fewer bytes.
        quality = Int((options.real(OptionKey.quality) ?? (isAV1 ? 60 : 75)).rounded())
        // aom's steps are coarser in time: its 3 and x265's 5 are both in the middle.
        effort = options.integer(OptionKey.effort) ?? (isAV1 ? 3 : 5)
        // The encoders split an image by their number of threads. By default the bytes must not depend on the machine.
        let wanted = options.integer(OptionKey.threads) ?? 1
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        threads = max(1, min(wanted, allowed, 16))
        thumbnail = options.integer("\(name).thumbnail") ?? 0
        guard (0...100).contains(quality), (0...9).contains(effort), (0...4096).contains(thumbnail) else {
            throw .invalidArgument("an option of \(name) is out of range")
        }

        let isWide = info.nativeFormat.bits > 8
        let depth = options.integer("\(name).bit-depth") ?? 0
        guard [0, 8, 10, 12].contains(depth) else { throw .invalidArgument("\(name).bit-depth must be 8, 10 or 12") }
        self.depth = depth == 0 ? (isWide ? 10 : 8) : depth
        // No warning for an explicit depth.
        if depth == 0, isWide, info.bitDepth > self.depth {
            session.host.warn(
                "samples of \(info.bitDepth) bits become \(self.depth) bits; \(name).bit-depth=12 keeps 12")
        }
        let chroma = options.string("\(name).chroma")
        guard let chroma = [nil: 420, "420": 420, "422": 422, "444": 444][chroma] else {
            throw .invalidArgument("\(name).chroma must be 420, 422 or 444")
        }
        // Lossless means RGB unchanged: all three planes complete, no matrix.
        if isLossless, options.string("\(name).chroma").map({ $0 != "444" }) ?? false {
            throw .invalidArgument("lossless needs \(name).chroma 444", hint: "leave \(name).chroma out")
        }
        if isLossless, isWide {
            throw .invalidArgument(
                "\(isAV1 ? "AVIF" : "HEIC") has no 16-bit samples, so a 16-bit image cannot be kept without loss",
                hint: "convert it to 8 bits first, or leave lossless out")
        }
        self.chroma = isLossless ? 444 : chroma
        codePoints = Self.codePoints(info.color.codePoints, isLossless: isLossless, isGray: info.nativeFormat.isGray)
    }

    /// The code points to store: the source's primaries and transfer, and a matrix that libheif computes.
    private static func codePoints(_ source: CodePoints?, isLossless: Bool, isGray: Bool) -> CodePoints {
        // 2 means "unspecified", 6 the matrix of BT.601 (ITU-T H.273, tables 2 to 4).
        var points = source ?? CodePoints(primaries: 2, transfer: 2, matrix: 6, isFullRange: true)
        // libheif supports only these (heif_color_primaries, heif_transfer_characteristics).
        if ![1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 22].contains(points.primaries) { points.primaries = 2 }
        if !(1...18).contains(points.transfer) || points.transfer == 3 { points.transfer = 2 }
        if ![1, 4, 5, 6, 7, 9].contains(points.matrix) {
            points.matrix = points.primaries == 9 ? 9 : points.primaries == 1 ? 1 : 6
        }
        if isLossless, !isGray { points.matrix = 0 }
        points.isFullRange = true
        return points
    }
}

extension PixelFormat {
    var isGray: Bool { channels == .gray || channels == .grayAlpha }
}
