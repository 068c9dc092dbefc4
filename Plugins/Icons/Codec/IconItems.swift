import CoderPluginKit
import ImageModel

/// The images of an icon, the primary one first, the others in the order of the file; damaged ones keep their error.
final class IconItems {
    /// The form in which an image of the file is read.
    struct Place {
        var name: String?
        var hotspot: (x: Int, y: Int)?
        var open: () throws(CoderError) -> any IconImage
    }

    private let places: [Place]
    private let images: [Result<any IconImage, CoderError>]
    private(set) var selected = 0

    var count: Int { places.count }

    /// The primary image is the largest one, and the first one of those with most bits.
    ///
    /// - Throws: the error of the first image if none can be read.
    init(_ stored: [Place], _ host: HostServices) throws(CoderError) {
        var (places, images) = (stored, [Result<any IconImage, CoderError>]())
        var best: (index: Int, rank: (Int, Int))?
        var firstError: CoderError?
        for (index, place) in places.enumerated() {
            if index % 64 == 0 { try host.checkCancellation() }
            do throws(CoderError) {
                let image = try place.open()
                let rank = (image.info.size.area ?? 0, image.depth)
                if best.map({ rank > $0.rank }) ?? true { best = (index, rank) }
                images.append(.success(image))
            } catch {
                if !error.isDamage { throw error }
                firstError = firstError ?? error
                images.append(.failure(error))
            }
        }
        guard let best else { throw firstError ?? .corrupt("the icon has no image") }
        places.insert(places.remove(at: best.index), at: 0)
        images.insert(images.remove(at: best.index), at: 0)
        (self.places, self.images) = (places, images)
    }

    var current: any IconImage {
        get throws(CoderError) { try image(selected) }
    }

    private func image(_ index: Int) throws(CoderError) -> any IconImage {
        guard images.indices.contains(index) else { throw .refused("there is no item \(index)") }
        switch images[index] {
        case .success(let image): return image
        case .failure(let error): throw .refused(error.message)
        }
    }

    func metadata() throws(CoderError) -> [MetadataBlob] {
        var blobs = try current.metadata()
        if let hotspot = places[selected].hotspot {
            blobs.append(MetadataBlob(.text, Array("\(hotspot.x),\(hotspot.y)".utf8), key: "Hotspot"))
        }
        return blobs
    }

    /// Returns the facts of an image as the host sees them.
    func info(_ index: Int) throws(CoderError) -> ImageInfo {
        var info = try image(index).info
        info.hasItems = count > 1
        return info
    }

    func item(at index: Int) throws(CoderError) -> ImageItem? {
        guard places.indices.contains(index) else { return nil }
        return ImageItem(index == 0 ? .primary : .alternative, info: try info(index), name: places[index].name)
    }

    func select(_ index: Int) throws(CoderError) {
        _ = try image(index)
        selected = index
    }
}

extension CoderError {
    /// Whether another image of the same file may be sound.
    fileprivate var isDamage: Bool {
        switch code {
        case .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded: true
        default: false
        }
    }
}
