/// The public names of a format that was recognized by the first bytes of a file.
public struct RecognizedFormat: Sendable, Hashable {
    /// The format, for example `tiff`.
    public let format: ImageFormat
    /// The display name, for example `TIFF`.
    public let name: String
    /// The preferred MIME type; nil if none is registered or in common use.
    public let mimeType: String?
    /// The uniform type identifier; nil if none is known.
    public let typeIdentifier: String?
    /// The file name extensions, in lower case without a dot; the usual one first.
    public let extensions: [String]
    /// Whether files of this format are images; a video, an archive or an HTML page is none.
    public let isImage: Bool

    /// Describes a format.
    package init(
        _ format: ImageFormat, name: String, mimeType: String?, typeIdentifier: String?, extensions: [String],
        isImage: Bool = true
    ) {
        self.format = format
        self.name = name
        self.mimeType = mimeType
        self.typeIdentifier = typeIdentifier
        self.extensions = extensions
        self.isImage = isImage
    }
}
