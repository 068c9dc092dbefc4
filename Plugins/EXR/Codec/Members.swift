internal import ImageModel

/// The images of a file: the parts and views, their levels and previews.
struct Members {
    struct Member {
        let role: ImageItem.Role
        let part: Int
        /// The view in the channels of the part; nil for the channels without one.
        let view: String?
        /// The level of a pyramid; 0 is the full size.
        let level: Int
        /// The number of the image to which it belongs.
        let owner: Int?
    }

    private(set) var all: [Member] = []

    /// - Parameters:
    ///   - isUsable: whether a part can be decoded.
    ///   - limit: the largest number of images.
    init(_ parts: [Part], limit: Int, isUsable: (Part) -> Bool) {
        // The primary image is item 0.
        let primary = parts.firstIndex(where: isUsable) ?? 0
        for part in parts[primary...] + parts[..<primary] {
            let owner = all.count
            func add(_ role: ImageItem.Role, view: String? = nil, level: Int = 0, owner: Int? = nil) {
                guard all.count < limit else { return }
                all.append(Member(role: role, part: part.index, view: view, level: level, owner: owner))
            }
            add(part.index == primary ? .primary : .page)
            guard !part.isDeep else { continue }
            for level in part.storage.levels.indices.dropFirst() { add(.level, level: level, owner: owner) }
            if part.color.preview != nil { add(.thumbnail, owner: owner) }
            // The first view is the one whose channels have no prefix.
            for view in part.names.views.dropFirst() { add(.page, view: view) }
        }
    }

    /// The number of the primary image.
    var primary: Int { all.firstIndex { $0.role == .primary } ?? 0 }
}
