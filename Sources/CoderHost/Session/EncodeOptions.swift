public import ImageModel

/// Options for writing an image in any format.
public struct EncodeOptions: Sendable, Hashable {
    /// The quality, 0 … 100; nil uses the coder's default. Formats without a quality ignore it.
    public var quality: Double?
    /// The box into which the upright image is fitted; keeps the aspect ratio and never enlarges.
    public var maxPixelSize: PixelSize?
    /// The maximum file size in bytes: the host searches for the best quality that meets it, up to ``quality``.
    public var maxFileSize: Int?
    /// The color behind transparent pixels if the format has no alpha.
    public var background = RGBAColor.white
    /// What becomes of light above screen white (PQ and HLG), and of colors that the format cannot describe.
    public var dynamicRange = DynamicRange.automatic
    /// Whether to write only the first frame of an animation.
    public var firstFrameOnly = false
    /// The frames of an animation to write.
    public var frames = FrameSelection()
    /// Whether to embed a thumbnail if the format supports it.
    public var embedsThumbnail = false
    /// The id of the only encoder to use; nil selects the best one. An unusable one is an error.
    public var encoder: String?
    /// Options for the coder.
    public var coder = CoderOptions()

    /// Creates default options.
    public init() {}

    /// Creates options that contain only coder options.
    package init(_ coder: CoderOptions) { self.coder = coder }
}

/// The range of light in an encoded image whose source has light above screen white.
public enum DynamicRange: String, Sendable, Hashable, CaseIterable {
    /// Keeps the range and the color space if the format can describe them; otherwise maps them to sRGB with a warning.
    case automatic = "auto"
    /// Keeps the stored values, also in a format that cannot describe them.
    case kept = "keep"
    /// Maps the range to sRGB in every format.
    case standard = "sdr"
}
