internal import ImageModel

/// The lists of a `meta` box, as far as a rewrite changes them.
///
/// Unlike ``ItemTable``, it keeps everything that writing the box again needs, and accepts no damage.
struct MetaLists {
    struct Child {
        let type: FourCC
        /// With the header.
        let range: Range<Int>
        let payload: Range<Int>
    }

    struct Item {
        let id: UInt32
        /// The complete `infe` box.
        let entry: Range<Int>
        /// The kind of metadata; nil for an image.
        let kind: MetadataBlob.Kind?
        /// Whether a viewer does not list the item.
        let isHidden: Bool
        /// Whether the item consists of tiles.
        let isGrid: Bool
    }

    /// The payload of the box; empty for a new box.
    let bytes: [UInt8]
    private(set) var children: [Child] = []
    private(set) var items: [Item] = []
    private(set) var itemsVersion = 0
    private(set) var references: [ItemReference] = []
    private(set) var referencesVersion = 0
    private(set) var primary: UInt32?
    /// The data in the box itself.
    private(set) var inline: Range<Int> = 0..<0
    var locations = ItemLocations()
    var properties = PropertyLists()

    static let xmpType = "application/rdf+xml"

    init() { bytes = [] }

    /// - Parameter fileCount: the number of bytes in the file.
    init(_ bytes: [UInt8], fileCount: Int) throws(CoderError) {
        self.bytes = bytes
        var cursor = BoxCursor(bytes)
        _ = try cursor.fullBox()
        try BoxPositions.check(cursor)
        var start = cursor.offset
        while let box = try cursor.box() {
            children.append(Child(type: box.type, range: start..<cursor.offset, payload: box.payload))
            start = cursor.offset
            if box.type == "idat" { inline = box.payload }
        }
        for child in children {
            var fields = BoxCursor(bytes, child.payload)
            switch child.type {
            case "pitm": primary = UInt32(try fields.uint(try fields.fullBox().version == 0 ? 2 : 4))
            case "iinf": try readItems(&fields)
            case "iloc": locations = try ItemLocations(fields, inline: inline.count, file: fileCount)
            case "iref": try readReferences(&fields)
            case "iprp": properties = try PropertyLists(fields)
            default: break
            }
        }
    }

    private mutating func readItems(_ fields: inout BoxCursor) throws(CoderError) {
        itemsVersion = try fields.fullBox().version
        let count = try fields.uint(itemsVersion == 0 ? 2 : 4)
        var start = fields.offset
        var seen: Set<UInt32> = []
        while let box = try fields.box() {
            var entry = fields.inside(box)
            let (version, flags) = try entry.fullBox()
            let id = UInt32(try entry.uint(version < 3 ? 2 : 4))
            guard box.type == "infe", seen.insert(id).inserted else { throw .corrupt("item \(id) has two types") }
            try entry.skip(2)
            // Versions 0 and 1 have no item type.
            let type: FourCC = version < 2 ? "mime" : FourCC(try entry.u32())
            _ = entry.string()
            let isXMP = type == "mime" && entry.string() == Self.xmpType
            let kind = Self.kind(of: type, isXMP: isXMP)
            items.append(
                Item(
                    id: id, entry: start..<fields.offset, kind: id == primary ? nil : kind,
                    isHidden: version >= 2 && flags & 1 != 0, isGrid: type == "grid"))
            start = fields.offset
        }
        guard count == items.count else { throw .corrupt("the list of items declares another number of items") }
    }

    private static func kind(of type: FourCC, isXMP: Bool) -> MetadataBlob.Kind? {
        switch type {
        case "Exif": .exif
        case "mime": isXMP ? .xmp : .raw
        case "uri ": .raw
        default: nil
        }
    }

    private mutating func readReferences(_ fields: inout BoxCursor) throws(CoderError) {
        referencesVersion = try fields.fullBox().version
        let width = referencesVersion == 0 ? 2 : 4
        while let box = try fields.box() {
            var entry = fields.inside(box)
            let from = UInt32(try entry.uint(width))
            var targets: [UInt32] = []
            for _ in 0..<(try entry.u16()) { targets.append(UInt32(try entry.uint(width))) }
            references.append(ItemReference(type: box.type, from: from, to: targets))
        }
    }

    /// Returns the smallest number of an item above all used ones, or else the first free one; nil if there is none.
    func freeID(beside others: Set<UInt32>) -> UInt32? {
        var used = others.union(items.map(\.id)).union(locations.entries.map(\.id)).union(properties.items)
        for reference in references {
            used.insert(reference.from)
            used.formUnion(reference.to)
        }
        let highest = used.filter { $0 < UInt32(UInt16.max) }.max() ?? 0
        return ([highest + 1] + Array(1...UInt32(UInt16.max))).first { !used.contains($0) }
    }
}
