public import ImageModel
public import ImageProcessing
public import PluginRuntime

extension CodersManager {
    /// Returns the colors and the BlurHash of an image, or of the first frame of an animation.
    ///
    /// The image is decoded at a reduced size if its coder can do that.
    /// - Parameter colors: the maximum number of palette colors.
    /// - Throws: the errors of decoding.
    public func summary(of source: ImageSource, colors: Int = 5) throws(CoderError) -> ImageSummary {
        try withSession(source) { session throws(CoderError) in try session.summary(colors: colors) }
    }
}

extension DecodeSession {
    /// The sides of the image that is summarized are at most this long.
    private static let summarySide = 128

    /// Returns the colors and the BlurHash of the upright image in sRGB.
    package func summary(colors: Int) throws(CoderError) -> ImageSummary {
        var options = DecodeOptions.thumbnail(PixelSize(Self.summarySide, Self.summarySide))
        options.appliesOrientation = true
        options.colors = .standardRange
        var summary = try ImageSummary(try decodeImage(options).pixels, colors: colors)
        // A few transparent pixels vanish in a smaller image.
        if info.hasAlpha, !summary.hasTransparentPixels, max(info.size.width, info.size.height) > Self.summarySide {
            summary.hasTransparentPixels = try ImageSummary.hasTransparentPixels(try decodeImage())
        }
        return summary
    }
}
