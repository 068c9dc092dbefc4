internal import ImageModel

/// The thumbnails of a `meta` box, with the items that belong to nothing else: tiles, alpha channels and metadata.
///
/// - Complexity: linear in the items and references of the file.
/// - Source: ISO/IEC 23008-12 sections 6.4.5 (thumbnails), 6.6.2 (derived images).
struct ThumbnailItems {
    private(set) var items: Set<UInt32> = []
    /// The number of thumbnails.
    let count: Int

    init(_ lists: MetaLists) {
        let all = Dictionary(uniqueKeysWithValues: lists.items.map { ($0.id, $0) })
        let thumbnails = lists.references.filter { $0.type == "thmb" }.map(\.from)
        items = Set(thumbnails).intersection(all.keys).subtracting([lists.primary].compactMap { $0 })
        count = items.count

        // By item: the items that may go with it, and the number of references for which an item stays.
        var dependents: [UInt32: [UInt32]] = [:]
        var reasons: [UInt32: Int] = [:]
        for reference in lists.references {
            switch reference.type {
            case "auxl", "cdsc", "thmb":
                reasons[reference.from, default: 0] += reference.to.count
                for owner in reference.to { dependents[owner, default: []].append(reference.from) }
            case "dimg":
                let isGrid = all[reference.from]?.isGrid == true
                for part in reference.to {
                    reasons[part, default: 0] += 1
                    // A viewer lists an image of which a thumbnail is made, but no tile of a grid.
                    if isGrid || all[part]?.isHidden == true { dependents[reference.from, default: []].append(part) }
                }
            default: break
            }
        }
        var open = Array(items)
        while let item = open.popLast() {
            for dependent in dependents[item] ?? [] {
                reasons[dependent, default: 0] -= 1
                guard reasons[dependent] == 0, dependent != lists.primary, all[dependent] != nil,
                    items.insert(dependent).inserted
                else { continue }
                open.append(dependent)
            }
        }
    }
}
