package import ImageModel

/// One listed image of the file, not a part of another image.
package struct ListedImage {
    package let id: UInt32
    package var role: ImageItem.Role
    /// The number of the image that this one belongs to.
    package var owner: Int?
    package var group: Int?
    package var kind: String?
}

/// The images of a file, each once: the primary image, other visible images, then thumbnails and auxiliary images.
///
/// Omits tiles and hidden sources of derived images.
///
/// - Complexity: linear in the items and references of the file.
/// - Source: ISO/IEC 23008-12 sections 6.4 (roles), 6.6.2 (derived images) and 6.8 (groups).
package struct ItemList {
    package private(set) var images: [ListedImage] = []
    private var places: [UInt32: Int] = [:]

    package init(_ table: ItemTable) {
        var parts: Set<UInt32> = []
        var gainMaps: [(of: UInt32, map: UInt32)] = []
        for reference in table.references {
            switch (reference.type, table.items[reference.from]?.type) {
            case ("dimg", "grid"): parts.formUnion(reference.to)
            case ("dimg", "tmap"):
                // The base image, then its gain map.
                guard reference.to.count == 2 else { continue }
                gainMaps.append((reference.to[0], reference.to[1]))
                parts.insert(reference.to[1])
            case ("thmb", _), ("auxl", _): parts.insert(reference.from)
            default: break
            }
        }
        append(ListedImage(id: table.primary, role: .primary))
        for id in table.order where !parts.contains(id) {
            guard let item = table.items[id], !item.isHidden, item.isImage || Self.unserved.contains(item.type) else {
                continue
            }
            append(ListedImage(id: id, role: .page))
        }
        for group in table.groups { take(group) }
        // Nested images, too: a gain map may have a thumbnail.
        var next = 0
        let maps = Dictionary(grouping: gainMaps, by: \.of)
        while next < images.count {
            let id = images[next].id
            for source in table.sources("thmb", to: id) where table.items[source]?.isImage == true {
                append(ListedImage(id: source, role: .thumbnail, owner: next))
            }
            for source in table.sources("auxl", to: id) where table.items[source]?.isImage == true {
                append(ListedImage(id: source, role: .auxiliary, owner: next, kind: table.auxiliaryKind(of: source)))
            }
            for (_, map) in maps[id] ?? [] where table.items[map]?.isImage == true {
                append(ListedImage(id: map, role: .auxiliary, owner: next, kind: Self.gainMap))
            }
            next += 1
        }
    }

    private mutating func append(_ image: ListedImage) {
        guard places[image.id] == nil else { return }
        places[image.id] = images.count
        images.append(image)
    }

    private mutating func take(_ group: EntityGroup) {
        let listed = Set(group.members.compactMap { places[$0] }).sorted()
        guard listed.count > 1, let first = listed.first else { return }
        for place in listed {
            if images[place].group == nil, group.id > 0 { images[place].group = Int(group.id) }
            if group.type == "altr", place != first, images[place].role == .page {
                images[place].role = .alternative
                images[place].owner = first
            }
        }
    }

    /// Kinds of images that are listed but cannot be decoded, so that the list is complete.
    private static let unserved: Set<FourCC> = ["avc1", "hvt1", "j2k1", "jpeg", "lhv1", "unci", "vvc1"]
    /// - Source: ISO 21496-1 annex C.
    private static let gainMap = "urn:iso:std:iso:ts:21496:-1"
}
