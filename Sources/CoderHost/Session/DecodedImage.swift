public import ImageModel
public import PluginRuntime

/// An image in memory with its properties and metadata.
public struct DecodedImage: Sendable {
    /// The properties from the file; `size` is the size of `pixels`.
    public var info: ImageInfo
    /// The decoded pixels.
    public var pixels: PixelBuffer
    /// The metadata of the file, unchanged.
    public var metadata: [MetadataBlob]
    /// The format of the source.
    public var format: ImageFormat
    /// The id of the coder that decoded it.
    public var coder: String
    /// Problems of the usable image.
    public var warnings: [String]

    /// Creates an image from its parts.
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

/// The result of an encoding session.
public struct EncodeReport: Sendable, Hashable {
    /// The id of the coder that wrote the output.
    public var coder: String
    /// Warnings about the output.
    public var warnings: [String]
    /// Where the coder ran; nil for the host's own coders.
    public var isolation: IsolationReport?

    package init(coder: String, warnings: [String], isolation: IsolationReport? = nil) {
        self.coder = coder
        self.warnings = warnings
        self.isolation = isolation
    }
}
