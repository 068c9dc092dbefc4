internal import CoderPluginKit
internal import ImageModel

/// The requested settings of an encoding session, checked against the limits of the format.
struct EncodeSettings {
    /// As similar to the source as WebP of its usual quality, in slightly fewer bytes; measured by SSIM on photos.
    private static let usualQuality = 60.0

    private(set) var isSingle: Bool
    private(set) var isLossless: Bool
    private(set) var quality: Int
    private(set) var effort: Int
    private(set) var depth: Int
    private(set) var chroma: Int
    let threads: Int
    private(set) var keyInterval: Int
    private(set) var codePoints: CodePoints

    init(_ session: EncoderSession, info: ImageInfo) throws(CoderError) {
        let options = session.options
        isSingle = !info.isAnimated || info.frameCount == 1
        isLossless = options.bool(OptionKey.lossless) ?? false
        quality = Int((options.real(OptionKey.quality) ?? Self.usualQuality).rounded())
        effort = options.integer(OptionKey.effort) ?? 2
        keyInterval = options.integer("avif.key-interval") ?? 0
        // The encoders split an image by their number of threads. By default the bytes must not depend on the machine.
        let wanted = options.integer(OptionKey.threads) ?? 1
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        threads = max(1, min(wanted, allowed, 16))
        guard (0...100).contains(quality), (0...9).contains(effort), (0...10_000).contains(keyInterval) else {
            throw .invalidArgument("an AVIF option is out of range")
        }

        let isWide = info.nativeFormat.bits > 8
        let depth = options.integer("avif.bit-depth") ?? 0
        guard [0, 8, 10, 12].contains(depth) else { throw .invalidArgument("avif.bit-depth must be 8, 10 or 12") }
        self.depth = depth == 0 ? (isWide ? 10 : 8) : depth
        // No warning for an explicit depth.
        if depth == 0, isWide, info.bitDepth > self.depth {
            session.host.warn("samples of \(info.bitDepth) bits become \(self.depth) bits; avif.bit-depth=12 keeps 12")
        }
        let chroma = options.string("avif.chroma")
        guard let samples = [nil: 420, "420": 420, "422": 422, "444": 444][chroma] else {
            throw .invalidArgument("avif.chroma must be 420, 422 or 444")
        }
        // Lossless means RGB unchanged: all three planes complete, no matrix.
        if isLossless, chroma.map({ $0 != "444" }) ?? false {
            throw .invalidArgument("lossless needs avif.chroma 444", hint: "leave avif.chroma out")
        }
        if isLossless, isWide {
            throw .invalidArgument(
                "AVIF has no 16-bit samples, so a 16-bit image cannot be kept without loss",
                hint: "convert it to 8 bits first, or leave lossless out")
        }
        if isLossless, self.depth != 8 {
            throw .invalidArgument("lossless keeps the bits as they are", hint: "leave avif.bit-depth out")
        }
        let isGray = info.nativeFormat.channels == .gray
        self.chroma = isGray ? 400 : isLossless ? 444 : samples
        codePoints = Self.codePoints(info.color.codePoints, isLossless: isLossless, isGray: isGray)
    }

    /// The same settings for a thumbnail: eight bits, a quarter of the color samples, never lossless.
    func ofThumbnail(isGray: Bool) -> EncodeSettings {
        var small = self
        (small.isSingle, small.isLossless, small.keyInterval) = (true, false, 0)
        (small.depth, small.chroma, small.effort) = (8, isGray ? 400 : 420, min(effort, 3))
        if small.codePoints.matrix == 0 { small.codePoints.matrix = 6 }
        return small
    }

    /// The code points to store: the source's primaries and transfer, and a matrix that libavif computes.
    private static func codePoints(_ source: CodePoints?, isLossless: Bool, isGray: Bool) -> CodePoints {
        // 2 means "unspecified", 6 the matrix of BT.601 (ITU-T H.273, tables 2 to 4).
        var points = source ?? CodePoints(primaries: 2, transfer: 2, matrix: 6, isFullRange: true)
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
