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

    /// 2 … 256, not counting the transparent color.
    var colors = 256
    var dither = Dither.auto
    var palette = PaletteChoice.auto
    var distance = Distance.rgb

    init(_ options: CoderOptions) throws(CoderError) {
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
