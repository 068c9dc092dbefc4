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

    /// Returns boxes of one image and of all its parts, to put in front of the file.
    ///
    /// - Throws: `.unsupported`, `.corrupt`, `.limitExceeded` for an image that cannot be decoded.
    func excerpt(of id: UInt32, from source: ByteSource) throws(CoderError) -> [UInt8] {
        guard let item = table.items[id], item.type == "av01" || item.type == "grid" else {
            throw .unsupported("an image of type '\(table.items[id]?.type ?? "none")'")
        }
        try derivations.check(image: id)
        let members = derivations.closure(of: id)
        return try Excerpt(members, in: derivations, from: source, brand: "avif", needsData: false).prefix
    }

    /// Returns boxes of a single tile, without transforms and colors.
    ///
    /// - Throws: `.needsInput` or `.truncated` if bytes of the tile are missing.
    func excerpt(ofTile id: UInt32, from source: ByteSource) throws(CoderError) -> [UInt8] {
        try Excerpt([id], in: derivations, from: source, brand: "avif") { !$0.isTransform && !$0.isColor }.prefix
    }
}
