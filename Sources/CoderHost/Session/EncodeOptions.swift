public import ImageModel

/// How a picture is to be written, whatever the format.
public struct EncodeOptions: Sendable, Hashable {
    /// What to keep, 0 … 100; nil leaves it to the coder. Formats without a quality ignore it.
    public var quality: Double?
    /// The box that the upright picture is fitted into; its aspect is kept, and it is never enlarged.
    public var maxPixelSize: PixelSize?
    /// Bytes that the file may have at most: the best quality that keeps to it is searched for, up to ``quality``.
    public var maxFileSize: Int?
    /// What is seen through transparent pixels where the format has no alpha.
    public var background = RGBAColor.white
    /// Only the first frame of an animation.
    public var firstFrameOnly = false
    /// Whether a small version is stored beside the picture, where the format can.
    public var embedsThumbnail = false
    /// What the coder alone understands.
    public var coder = CoderOptions()

    public init() {}

    /// Options of the coder alone.
    public init(_ coder: CoderOptions) { self.coder = coder }
}
