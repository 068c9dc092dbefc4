internal import CoderPluginKit
internal import ImageModel

/// The PNG options that reduce the colors of a still.
struct PaletteSettings {
    /// The treatment of a pixel whose color is not in the palette.
    enum Dither: String {
        case none, ordered, diffusion
        /// Diffusion, or none if the best wanted quality is below 50.
        case auto
    }

    /// The least quality with dithering by default. The noise of few colors needs so many bytes that a lower quality
    /// would make a larger file.
    private static let leastDithered = 50

    /// The maximum number of entries, 2 … 256, the transparent one included.
    let colors: Int
    let dither: Dither
    /// The quality that needs no more colors, and the quality below which the image stays in true color.
    let quality: ClosedRange<Int>?
    /// Whether the caller wants fewer colors.
    let isWanted: Bool
    /// Whether an option has no effect without another one.
    let isIdle: Bool

    init(_ options: CoderOptions) throws(CoderError) {
        let count = options.integer("png.colors")
        if let count, !(2...256).contains(count) {
            throw .invalidArgument("invalid png.colors \(count)", hint: "use 2 … 256")
        }
        colors = count ?? 256
        let name = options.string("png.dither")
        guard let dither = Dither(rawValue: name ?? "auto") else {
            throw .invalidArgument("invalid png.dither '\(name ?? "")'", hint: "use none, ordered, diffusion or auto")
        }
        quality = try options.string("png.quality-range").map { text throws(CoderError) in try Self.range(text) }
        let isLow = quality.map { $0.upperBound < Self.leastDithered } ?? false
        self.dither = dither == .auto ? (isLow ? .none : .diffusion) : dither
        isWanted = count != nil || quality != nil
        isIdle = name != nil && !isWanted
    }

    /// Reads `65-80`.
    private static func range(_ text: String) throws(CoderError) -> ClosedRange<Int> {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let low = parts[0], let high = parts[1], low >= 0, low <= high, high <= 100 else {
            throw .invalidArgument(
                "invalid png.quality-range '\(text)'", hint: "use MIN-MAX, 0 to 100, for example 65-80")
        }
        return low...high
    }

    /// Returns the mean squared error of a sample that a quality allows: 10 (38 dB) for 80, 17.5 (36 dB) for 65.
    ///
    /// Measured: this is about the error of pngquant at the same quality.
    static func error(allowedBy quality: Int) -> Float { 0.5 * Float(100 - quality) }

    /// Returns the best quality that allows an error.
    static func quality(of error: Float) -> Int { Int(max(0, 100 - 2 * error)) }
}
