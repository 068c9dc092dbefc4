internal import CoderPluginKit
internal import ImageModel

/// What an encoding session was asked for, checked against what the format can do.
struct EncodeSettings {
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
        quality = Int((options.real(OptionKey.quality) ?? 75).rounded())
        effort = options.integer(OptionKey.effort) ?? 3
        keyInterval = options.integer("avif.key-interval") ?? 0
        // The encoders cut an image by their threads: without a wish the bytes must not depend on the machine.
        let wanted = options.integer(OptionKey.threads) ?? 1
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        threads = max(1, min(wanted, allowed, 16))
        guard (0...100).contains(quality), (0...9).contains(effort), (0...10_000).contains(keyInterval) else {
            throw .invalidArgument("an option of avif is out of its range")
        }

        let isWide = info.nativeFormat.bits > 8
        let depth = options.integer("avif.bit-depth") ?? 0
        guard [0, 8, 10, 12].contains(depth) else { throw .invalidArgument("avif.bit-depth is 8, 10 or 12") }
        self.depth = depth == 0 ? (isWide ? 10 : 8) : depth
        // Who names a depth knows.
        if depth == 0, isWide, info.bitDepth > self.depth {
            session.host.warn("samples of \(info.bitDepth) bits become \(self.depth) bits; avif.bit-depth=12 keeps 12")
        }
        let chroma = options.string("avif.chroma")
        guard let samples = [nil: 420, "420": 420, "422": 422, "444": 444][chroma] else {
            throw .invalidArgument("avif.chroma is 420, 422 or 444")
        }
        // Lossless means RGB as it is: all three planes whole, no matrix.
        if isLossless, chroma.map({ $0 != "444" }) ?? false {
            throw .invalidArgument("lossless needs all colour samples", hint: "leave avif.chroma out")
        }
        if isLossless, isWide {
            throw .invalidArgument(
                "AVIF has no 16-bit samples, so a 16-bit picture cannot be kept without loss",
                hint: "convert it to 8 bits first, or leave lossless out")
        }
        if isLossless, self.depth != 8 {
            throw .invalidArgument("lossless keeps the bits as they are", hint: "leave avif.bit-depth out")
        }
        let isGray = info.nativeFormat.channels == .gray
        self.chroma = isGray ? 400 : isLossless ? 444 : samples
        codePoints = Self.codePoints(info.color.codePoints, isLossless: isLossless, isGray: isGray)
    }

    /// The same for a small version of the picture: eight bits, a quarter of the colour samples, never lossless.
    func ofThumbnail(isGray: Bool) -> EncodeSettings {
        var small = self
        (small.isSingle, small.isLossless, small.keyInterval) = (true, false, 0)
        (small.depth, small.chroma, small.effort) = (8, isGray ? 400 : 420, min(effort, 3))
        if small.codePoints.matrix == 0 { small.codePoints.matrix = 6 }
        return small
    }

    /// What to write down: the source's primaries and transfer, and a matrix that libavif computes.
    private static func codePoints(_ source: CodePoints?, isLossless: Bool, isGray: Bool) -> CodePoints {
        // 2 stands for "unspecified", 6 for the matrix of BT.601 (ITU-T H.273, tables 2 to 4).
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
