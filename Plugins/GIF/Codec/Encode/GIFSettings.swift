internal import ImageModel

/// What the caller may decide about a GIF.
struct GIFSettings {
    /// How a pixel gets a colour that the palette does not have.
    enum Dither: String {
        case none, ordered, diffusion
        /// Diffusion for a still, none for an animation, where it costs more bytes than a palette for each frame.
        case auto
    }

    /// Where the colours of a frame come from.
    enum PaletteChoice: String {
        /// A frame brings its own where the gain is worth the bytes.
        case auto
        /// The first frame's are those of all.
        case global
        /// Every frame brings its own.
        case local
    }

    /// How far a colour is from another.
    enum Distance: String {
        /// As PSNR measures.
        case rgb
        /// As the eye measures.
        case perceptual

        var metric: ColorMetric { self == .rgb ? .rgb : .perceptual }
    }

    /// 2 … 256, the transparent one included.
    var colors = 256
    var dither = Dither.auto
    var palette = PaletteChoice.auto
    var distance = Distance.rgb

    init(_ options: CoderOptions) throws(CoderError) {
        if let count = options.integer("gif.colors") {
            guard (2...256).contains(count) else {
                throw .invalidArgument("gif.colors is \(count)", hint: "it is 2 … 256")
            }
            colors = count
        }
        if let name = options.string("gif.dither") {
            guard let value = Dither(rawValue: name) else {
                throw .invalidArgument("gif.dither is '\(name)'", hint: "it is none, ordered, diffusion or auto")
            }
            dither = value
        }
        if let name = options.string("gif.palette") {
            guard let value = PaletteChoice(rawValue: name) else {
                throw .invalidArgument("gif.palette is '\(name)'", hint: "it is auto, global or local")
            }
            palette = value
        }
        if let name = options.string("gif.distance") {
            guard let value = Distance(rawValue: name) else {
                throw .invalidArgument("gif.distance is '\(name)'", hint: "it is rgb or perceptual")
            }
            distance = value
        }
    }
}
