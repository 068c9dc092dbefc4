package import ImageModel
import PluginRuntime

extension DecodeSession {
    /// Thumbnails are among the first items of a file.
    private static let maxSearchedItems = 16

    /// Returns an embedded thumbnail with the size and colors of the whole image, to display it before the image arrives.
    ///
    /// Call it before the first pixels are decoded.
    /// - Returns: nil if there is no thumbnail with the aspect ratio of the image.
    /// - Throws: `.needsInput` while the thumbnail may still arrive; the errors of a damaged thumbnail.
    package func thumbnailPreview(_ options: DecodeOptions) throws(CoderError) -> DecodedImage? {
        guard info.hasItems, !hasChosen, coder.roles.contains(.items) else { return nil }
        let shape = try shape(options)
        guard shape.part == nil else { return nil }
        var largest: (index: Int, area: Int)?
        try sequence.attempt { decoder throws(CoderError) in
            for index in 0..<Self.maxSearchedItems {
                guard let item = try Self.item(index, decoder) else { return }
                guard item.role == .thumbnail, item.owner ?? 0 == 0, item.info.size.hasShape(of: info.size),
                    let area = item.info.size.area, area > largest?.area ?? 0
                else { continue }
                largest = (index, area)
            }
        }
        guard let largest else { return nil }
        return try shaped(try decode(item: largest.index), shape)
    }

    /// Returns an item; nil behind the last one that can be described now.
    private static func item(_ index: Int, _ decoder: any FrameDecoder) throws(CoderError) -> ImageItem? {
        do throws(CoderError) {
            return try decoder.item(at: index)
        } catch {
            // The items behind the pixels have not arrived, or one is damaged.
            if index > 0, [.needsInput, .refused].contains(error.code) { return nil }
            throw error
        }
    }
}
