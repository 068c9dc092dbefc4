public import ImageModel

/// The images of one file: the first one, its embedded thumbnails, then the images of its index in their order.
extension JPEGDecoder {
    public func itemCount() throws(CoderError) -> Int? {
        _ = try facts()
        return try album?.count() ?? 1
    }

    public func item(at index: Int) throws(CoderError) -> ImageItem? {
        let image = try facts()
        if index == 0 { return ImageItem(.primary, info: image, group: album?.group) }
        return index < 0 ? nil : try album?.item(index)
    }

    public func select(item index: Int) throws(CoderError) {
        _ = try facts()
        var next: JPEGAlbum.Opened?
        if index != 0 {
            guard index > 0, let opened = try album?.open(index) else { throw .refused("there is no item \(index)") }
            next = opened
        }
        // Decoded rows are not repeated, and the next surface is a different one.
        close()
        selected?.close()
        selected = next
    }
}
