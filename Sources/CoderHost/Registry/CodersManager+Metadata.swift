public import ImageMetadata
public import PluginRuntime

extension CodersManager {
    /// Reads the metadata of an image as named tags, without decoding pixels.
    ///
    ///     let taken = try host.manager.metadataTags(of: source).first { $0.name == "DateTimeOriginal" }?.text
    ///
    /// - Throws: as opening the image.
    public func metadataTags(of source: ImageSource) throws(CoderError) -> [MetadataTag] {
        try withSession(source) { session throws(CoderError) in MetadataTag.read(from: try session.storedMetadata()) }
    }
}
