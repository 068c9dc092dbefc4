internal import ImageModel
internal import Palettes

/// The GIF options that the caller can set.
struct GIFSettings {
    /// The treatment of a pixel whose color is not in the palette.
    enum Dither: String {
        case none, ordered, diffusion
        /// Diffusion for a still, none for an animation: there it costs more bytes than a palette for each frame.
        case auto
    }

    /// The source of a frame's colors.
    enum PaletteChoice: String {
        /// A frame gets its own palette if the gain is worth the bytes.
        case auto
        /// All frames use the colors of the first.
        case global
        /// Every frame has its own palette.
        case local
    }

    /// The measure of color distances.
    enum Distance: String {
        /// The error of PSNR.
        case rgb
        /// The error as the eye sees it.
        case perceptual

        var metric: ColorMetric { self == .rgb ? .rgb : .perceptual }
    }

    /// The squared error that ``lossy`` allows for a pixel, above the error of the nearest color.
    ///
    /// The scale is that of other optimizers: 20 allows about 8 of 255 in each channel, 80 about 16.
    func allowedError(_ metric: ColorMetric) -> Int32 { Int32(10 * Float(lossy) / metric.unit) }

    /// 2 … 256, not counting the transparent color.
    var colors = 256
    var dither = Dither.auto
    var palette = PaletteChoice.auto
    var distance = Distance.rgb
    /// The strength of lossy compression, 0 … 200.
    var lossy = 0

    init(_ options: CoderOptions) throws(CoderError) {
        if let quality = options.real(OptionKey.quality) {
            guard (0...100).contains(quality) else {
                throw .invalidArgument("invalid quality \(quality)", hint: "use 0 … 100")
            }
            lossy = Int(2 * (100 - quality))
            // Below 50, every 10 steps halve the colors.
            if quality < 50 { colors = 8 << Int((quality / 10).rounded(.up)) }
        }
        if let strength = options.integer("gif.lossy") {
            guard (0...200).contains(strength) else {
                throw .invalidArgument("invalid gif.lossy \(strength)", hint: "use 0 … 200")
            }
            lossy = strength
        }
        if let count = options.integer("gif.colors") {
            guard (2...256).contains(count) else {
                throw .invalidArgument("invalid gif.colors \(count)", hint: "use 2 … 256")
            }
            colors = count
        }
        if let name = options.string("gif.dither") {
            guard let value = Dither(rawValue: name) else {
                throw .invalidArgument("invalid gif.dither '\(name)'", hint: "use none, ordered, diffusion or auto")
            }
            dither = value
        }
        if let name = options.string("gif.palette") {
            guard let value = PaletteChoice(rawValue: name) else {
                throw .invalidArgument("invalid gif.palette '\(name)'", hint: "use auto, global or local")
            }
            palette = value
        }
        if let name = options.string("gif.distance") {
            guard let value = Distance(rawValue: name) else {
                throw .invalidArgument("invalid gif.distance '\(name)'", hint: "use rgb or perceptual")
            }
            distance = value
        }
    }
}
