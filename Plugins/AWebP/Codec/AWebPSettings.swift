import CoderPluginKit
import ImageModel

/// What the options mean for an animation.
struct AWebPSettings {
    /// For the library; a still's keys are taken as they are.
    var options: CoderOptions
    /// Whether a picture is coded lossless, lossy, or both to take the smaller.
    var kinds: [Bool]
    /// Whether the colour of fully transparent pixels is kept.
    var isExact: Bool
    /// By how much a channel may differ from what is seen before it is coded anew.
    var tolerance: Int
    /// Frames from one that stands alone to the next; 0 where nothing is asked for.
    var leastBetweenKeys: Int
    var mostBetweenKeys: Int

    init(_ options: CoderOptions) throws(CoderError) {
        self.options = options
        // Every frame would aim at it by itself.
        for key in ["webp.target-size", "webp.target-psnr"] { self.options[key] = nil }
        let isLossless = options.bool(OptionKey.lossless) ?? false
        let isMixed = options.bool("awebp.mixed") ?? false
        kinds = isMixed ? [false, true] : [isLossless]
        isExact = options.bool("webp.exact") ?? false
        tolerance = isLossless && !isMixed ? 0 : Self.tolerance(quality: options.real(OptionKey.quality) ?? 75)
        leastBetweenKeys = options.integer("awebp.kmin") ?? 0
        mostBetweenKeys = options.integer("awebp.kmax") ?? 0
        guard leastBetweenKeys >= 0, mostBetweenKeys >= 0 else {
            throw .invalidArgument("awebp.kmin and awebp.kmax are not negative")
        }
        guard mostBetweenKeys == 0 || leastBetweenKeys <= mostBetweenKeys else {
            throw .invalidArgument("awebp.kmin is not above awebp.kmax")
        }
    }

    /// What lossy coding of this quality changes anyway: 1 at 100, 5 at 75, 16 at 25.
    private static func tolerance(quality: Double) -> Int {
        let root = (min(max(quality, 0), 100) / 100).squareRoot()
        return Int(1 + 30 * (1 - root))
    }
}
