import CoderPluginKit
import ImageModel

/// The settings of an animation, from the options.
struct AWebPSettings {
    /// The ways to code an image.
    enum Kind {
        case lossless, lossy
        /// Both ways; the smaller is written.
        case mixed
        /// Both ways if the image has few enough colors for a palette, else lossy.
        case automatic
    }

    /// The library settings; the options of a still apply unchanged.
    var options: CoderOptions
    /// Whether images are coded lossless or lossy, or each both ways to take the smaller.
    var kind: Kind
    /// Whether the color of fully transparent pixels is kept.
    var isExact: Bool
    /// The maximum difference of a channel that is not coded again.
    var tolerance: Int
    /// The number of frames from one key frame to the next; 0 for no request.
    var leastBetweenKeys: Int
    var mostBetweenKeys: Int

    init(_ options: CoderOptions) throws(CoderError) {
        self.options = options
        // Every frame separately would aim at it.
        for key in ["webp.target-size", "webp.target-psnr"] { self.options[key] = nil }
        let isLossless = options.bool(OptionKey.lossless) ?? false
        switch options.string("awebp.mixed") ?? "auto" {
        case "yes": kind = .mixed
        case "no": kind = isLossless ? .lossless : .lossy
        case "auto": kind = isLossless ? .lossless : .automatic
        case let word:
            throw .invalidArgument("invalid awebp.mixed '\(word)'", hint: "use auto, yes or no")
        }
        isExact = options.bool("webp.exact") ?? false
        tolerance = kind == .lossless ? 0 : Self.tolerance(quality: options.real(OptionKey.quality) ?? 75)
        leastBetweenKeys = options.integer("awebp.kmin") ?? 0
        mostBetweenKeys = options.integer("awebp.kmax") ?? 0
        guard leastBetweenKeys >= 0, mostBetweenKeys >= 0 else {
            throw .invalidArgument("awebp.kmin and awebp.kmax must not be negative")
        }
        guard mostBetweenKeys == 0 || leastBetweenKeys <= mostBetweenKeys else {
            throw .invalidArgument("awebp.kmin must not be above awebp.kmax")
        }
    }

    /// The change that lossy coding of this quality makes anyway: 1 at 100, 5 at 75, 16 at 25.
    private static func tolerance(quality: Double) -> Int {
        let root = (min(max(quality, 0), 100) / 100).squareRoot()
        return Int(1 + 30 * (1 - root))
    }
}
