internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The images that a file lists, and boxes that present one of them to libavif.
struct ItemBoxes {
    let derivations: Derivations
    /// The primary image first.
    let images: [ListedImage]

    /// The largest `meta` box that is searched; the `meta` box of images is far smaller.
    private static let largestMeta = 4 << 20

    /// Nil if the lists are missing, damaged or too long.
    init?(_ session: DecoderSession) {
        guard let meta = Container.payload("meta", of: session.source, atMost: Self.largestMeta),
            let table = try? ItemTable(meta)
        else { return nil }
        derivations = Derivations(table, limits: session.limits)
        images = ItemList(table).images
    }

    var table: ItemTable { derivations.table }

    /// Throws if the primary image depends on a feature that neither this plugin nor libavif implements.
    ///
    /// libavif refuses such an image, too, but does not name the feature.
    func checkSupport() throws(CoderError) {
        do throws(CoderError) {
            _ = try derivations.coded(images[0].id)
        } catch {
            if error.code == .unsupportedFeature { throw error }
        }
    }

    /// Throws if the sum of the extents of an item exceeds the file: libavif would allocate it.
    private func checkExtents(of members: [UInt32], in source: ByteSource) throws(CoderError) {
        for member in members {
            guard let extents = table.items[member]?.extents, extents.count > 1 else { continue }
            var total: UInt64 = 0
            for extent in extents {
                let (sum, overflow) = total.addingReportingOverflow(extent.length)
                total = overflow ? .max : sum
            }
            let available = table.available(extents[0], in: source)
            if total <= UInt64(available) { continue }
            guard source.isComplete else { throw .needsInput }
            throw .corrupt("item \(member) has \(total) bytes, its range \(available)")
        }
    }

    /// Whether a grid of the primary image has tiles in another order than the file lists them.
    ///
    /// libavif 0.11 joins tiles in the order of the items instead of the references. An excerpt lists both alike.
    var hasUnorderedTiles: Bool {
        let places = Dictionary(uniqueKeysWithValues: table.order.enumerated().map { ($1, $0) })
        let id = images[0].id
        let alpha = (try? derivations.alpha(id)) ?? nil
        return [id, alpha].compactMap { $0 }.contains { grid in
            let tiles = table.targets("dimg", from: grid).map { places[$0] ?? -1 }
            return zip(tiles, tiles.dropFirst()).contains { $0 > $1 }
        }
    }

    /// Returns boxes of one image and of all its parts, to put in front of the file.
    ///
    /// - Throws: `.unsupported`, `.corrupt`, `.limitExceeded` for an image that cannot be decoded.
    func excerpt(of id: UInt32, from source: ByteSource) throws(CoderError) -> [UInt8] {
        guard let item = table.items[id], item.type == "av01" || item.type == "grid" else {
            throw .unsupported("an image of type '\(table.items[id]?.type ?? "none")'")
        }
        try derivations.check(image: id)
        let members = derivations.closure(of: id)
        try checkExtents(of: members, in: source)
        return try Excerpt(members, in: derivations, from: source, brand: "avif", needsData: false).prefix
    }

    /// Returns boxes of a single tile, without transforms and colors.
    ///
    /// - Throws: `.needsInput` or `.truncated` if bytes of the tile are missing.
    func excerpt(ofTile id: UInt32, from source: ByteSource) throws(CoderError) -> [UInt8] {
        try Excerpt([id], in: derivations, from: source, brand: "avif") { !$0.isTransform && !$0.isColor }.prefix
    }
}
