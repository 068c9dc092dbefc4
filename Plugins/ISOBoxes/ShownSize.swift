package import ImageModel

extension ItemTable {
    /// Returns the size after the transforms, in the order of the properties.
    package func shownSize(of id: UInt32) throws(CoderError) -> PixelSize {
        let properties = properties(of: id)
        var size = PixelSize.zero
        // The stored size is the size before all transforms, at any position among them.
        for property in properties { if case .extent(let stored) = property { size = stored } }
        if size.width != size.height, let coded = try codedSize(of: id), Self.isTurned(size, beside: coded) {
            size = size.transposed
        }
        for property in properties {
            switch property {
            case .cleanAperture(let aperture): size = aperture.size
            case .rotation(let turns) where turns % 2 == 1: size = size.transposed
            default: break
            }
        }
        guard !size.isEmpty else { throw .corrupt("the image has no size") }
        return size
    }

    /// Whether a size can only be the size after a rotation; libheif 1.13 to 1.15 writes such sizes for rotated images.
    private static func isTurned(_ size: PixelSize, beside coded: PixelSize) -> Bool {
        let fits = size.width <= coded.width && size.height <= coded.height
        return !fits && size.height <= coded.width && size.width <= coded.height
    }

    /// Returns the size of the stream or of the canvas, if the boxes declare it.
    private func codedSize(of id: UInt32) throws(CoderError) -> PixelSize? {
        if items[id]?.type == "grid" {
            return try inlineBytes(of: id, atMost: 16).map(DerivedCanvas.grid)
        }
        for property in properties(of: id) {
            switch property {
            case .hevc(let configuration):
                return configuration.sizes.first
            case .av1(let configuration): return configuration.coded
            default: break
            }
        }
        return nil
    }
}
