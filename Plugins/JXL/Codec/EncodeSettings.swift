internal import CoderPluginKit
internal import ImageModel

/// The requested settings of an encoding session, checked against the limits of the format.
struct EncodeSettings {
    let isLossless: Bool
    let isProgressive: Bool
    let isAnimated: Bool
    /// libjxl's effort, 1 to 9.
    let effort: Int
    let decodingSpeed: Int
    /// libjxl's distance: 1 is hardly visible at usual size.
    let distance: Double
    /// Whether to use the host's threads.
    let isParallel: Bool
    /// Plays of an animation; 0 for no end.
    let loops: Int
    /// Ticks per second, once the first frame is known.
    var ticks: UInt64 = 1000

    /// Distance 1.
    private static let usualQuality = 90.0

    init(_ session: EncoderSession, info: ImageInfo) throws(CoderError) {
        let options = session.options
        isLossless = options.bool(OptionKey.lossless) ?? false
        isProgressive = options.bool("jxl.progressive") ?? false
        isAnimated = info.isAnimated && info.frameCount != 1
        let quality = options.real(OptionKey.quality) ?? Self.usualQuality
        guard (0...100).contains(quality) else { throw .invalidArgument("quality \(quality) is not in 0 … 100") }
        distance = Self.distance(quality)
        // Without loss, effort 5 takes eleven times as long as effort 3, for 3 % fewer bytes.
        let effort = options.integer(OptionKey.effort) ?? (isLossless ? 3 : 5)
        guard (0...9).contains(effort) else { throw .invalidArgument("effort \(effort) is not in 0 … 9") }
        self.effort = max(1, effort)
        decodingSpeed = options.integer("jxl.decoding-speed") ?? 0
        guard (0...4).contains(decodingSpeed) else {
            throw .invalidArgument("jxl.decoding-speed \(decodingSpeed) is not in 0 … 4")
        }
        isParallel = options.integer(OptionKey.threads) != 1 && session.limits.maxThreads != 1
        switch info.loopCount {
        case .plays(let count): loops = max(1, count)
        // The format always states a number; an animation without one plays once.
        case .unknown: loops = 1
        case .infinite: loops = 0
        }
    }

    /// The distance for a quality, so that the same number gives about the quality of a JPEG.
    private static func distance(_ quality: Double) -> Double {
        if quality >= 30 { return max(0.1, 0.1 + (100 - quality) * 0.09) }
        return min(25, 53 / 3000 * quality * quality - 23 / 20 * quality + 25)
    }
}
