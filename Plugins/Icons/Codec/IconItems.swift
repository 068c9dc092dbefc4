import CoderPluginKit
import ImageModel

/// The images of an icon; those that are damaged keep their error and their number.
final class IconItems {
    /// The form in which an image of the file is read.
    struct Place {
        var name: String?
        var hotspot: (x: Int, y: Int)?
        var open: () throws(CoderError) -> any IconImage
    }

    private let places: [Place]
    private var images: [Int: Result<any IconImage, CoderError>] = [:]
    /// The number of the largest image; the first one of those with most bits.
    let primary: Int
    private(set) var selected: Int

    var count: Int { places.count }

    /// - Throws: the error of the first image if none can be read.
    init(_ places: [Place], _ host: HostServices) throws(CoderError) {
        self.places = places
        var best: (index: Int, rank: (Int, Int))?
        var firstError: CoderError?
        for (index, place) in places.enumerated() {
            if index % 64 == 0 { try host.checkCancellation() }
            do throws(CoderError) {
                let image = try place.open()
                let rank = (image.info.size.area ?? 0, image.depth)
                if best.map({ rank > $0.rank }) ?? true { best = (index, rank) }
                images[index] = .success(image)
            } catch {
                if !error.isDamage { throw error }
                firstError = firstError ?? error
                images[index] = .failure(error)
            }
        }
        guard let best else { throw firstError ?? .corrupt("the icon has no image") }
        (primary, selected) = (best.index, best.index)
    }

    var current: any IconImage {
        get throws(CoderError) { try image(selected) }
    }

    private func image(_ index: Int) throws(CoderError) -> any IconImage {
        guard let result = images[index] else { throw .refused("there is no item \(index)") }
        switch result {
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
        return ImageItem(index == primary ? .primary : .alternative, info: try info(index), name: places[index].name)
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
