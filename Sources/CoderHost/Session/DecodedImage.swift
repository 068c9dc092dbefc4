public import ImageModel

/// A picture in memory with what belongs to it.
public struct DecodedImage: Sendable {
    /// The facts of the file; `size` is that of `pixels`.
    public var info: ImageInfo
    public var pixels: PixelBuffer
    public var metadata: [MetadataBlob]
    /// The format it came from.
    public var format: ImageFormat
    /// The coder that decoded it.
    public var coder: String
    /// What was off although the picture is usable.
    public var warnings: [String]

    public init(
        info: ImageInfo, pixels: PixelBuffer, metadata: [MetadataBlob] = [], format: ImageFormat, coder: String,
        warnings: [String] = []
    ) {
        self.info = info
        self.pixels = pixels
        self.metadata = metadata
        self.format = format
        self.coder = coder
        self.warnings = warnings
    }
}

/// What an encoding session has to say.
public struct EncodeReport: Sendable, Hashable {
    /// The coder that wrote it.
    public var coder: String
    public var warnings: [String]
    /// Where it ran; nil for the host's own coders.
    public var isolation: IsolationReport?
}
