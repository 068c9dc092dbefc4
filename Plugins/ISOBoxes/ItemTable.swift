package import CoderPluginKit
package import ImageModel

/// The contents of the `meta` box, without pixels.
///
///     meta ─┬─ hdlr  pict
///           ├─ pitm  the primary item
///           ├─ iinf ── infe  type of each item
///           ├─ iloc  position of its bytes
///           ├─ iref  thmb, auxl, dimg, cdsc, prem
///           ├─ grpl  groups of items
///           └─ iprp ─┬─ ipco  the properties
///                    └─ ipma  properties of each item, in order
///
/// - Source: ISO/IEC 14496-12 section 8.11; ISO/IEC 23008-12 sections 6 and 9.
package struct ItemTable {
    /// The payload of the `meta` box; contains every range of a property.
    package let bytes: [UInt8]
    package private(set) var primary: UInt32 = 0
    package private(set) var items: [UInt32: Item] = [:]
    /// Every item with a type, in the order of the file.
    package private(set) var order: [UInt32] = []
    package private(set) var groups: [EntityGroup] = []
    package private(set) var properties: [ItemProperty] = []
    /// The box of each property.
    package private(set) var propertyBoxes: [Box] = []
    package private(set) var references: [ItemReference] = []
    private var links = Links()
    private var inlineData: Range<Int> = 0..<0

    /// The positions in `references`, by item.
    private struct Links {
        var outgoing: [UInt32: [Int]] = [:]
        var incoming: [UInt32: [Int]] = [:]
        var damage: String?
    }

    /// The first damage in the lists of items and references, whose other entries can be used.
    package var damage: String? { links.damage }

    /// The maximum number that libheif accepts.
    package static let maxItems = 20_000
    private static let maxExtents = 32

    package init(_ bytes: [UInt8]) throws(CoderError) {
        self.bytes = bytes
        var cursor = BoxCursor(bytes)
        _ = try cursor.fullBox()
        try BoxPositions.check(cursor)
        var hasPrimary = false
        while let box = try cursor.box() {
            var fields = cursor.inside(box)
            switch box.type {
            case "pitm":
                let version = try fields.fullBox().version
                primary = UInt32(try fields.uint(version == 0 ? 2 : 4))
                hasPrimary = true
            case "iinf": try readTypes(&fields)
            case "iloc": try readPlaces(&fields)
            case "iref": try readReferences(&fields)
            case "iprp": try readProperties(&fields)
            case "idat": inlineData = box.payload
            case "grpl": readGroups(&fields)
            default: break
            }
        }
        guard hasPrimary else { throw .corrupt("the file has no primary image") }
    }

    // MARK: Lookup

    package func properties(of id: UInt32) -> [ItemProperty] {
        (items[id]?.properties ?? []).map { properties[$0.index] }
    }

    /// The bytes of all boxes of an item's properties.
    package func propertyBytes(of id: UInt32) -> Int {
        (items[id]?.properties ?? []).reduce(0) { $0 + 8 + propertyBoxes[$1.index].payload.count }
    }

    /// The URN that names the kind of an auxiliary image.
    package func auxiliaryKind(of id: UInt32) -> String? {
        for case .auxiliary(let kind) in properties(of: id) { return kind }
        return nil
    }

    /// Returns the size of a tile of a grid, before any transform.
    package func tileSize(of tile: UInt32) throws(CoderError) -> PixelSize {
        var sizes: [PixelSize] = []
        for property in properties(of: tile) {
            switch property {
            case .extent(let size): sizes.append(size)
            case .cleanAperture, .rotation: throw .unsupported("a grid of rotated or cropped tiles")
            default: break
            }
        }
        guard sizes.count == 1 else { throw .corrupt("a tile of a grid has no size, or several") }
        return sizes[0]
    }

    package func targets(_ type: FourCC, from id: UInt32) -> [UInt32] {
        (links.outgoing[id] ?? []).lazy.map { references[$0] }.filter { $0.type == type }.flatMap(\.to)
    }

    package func sources(_ type: FourCC, to id: UInt32) -> [UInt32] {
        (links.incoming[id] ?? []).lazy.map { references[$0] }.filter { $0.type == type }.map(\.from)
    }

    /// Returns the joined bytes of an item.
    ///
    /// - Throws: `.needsInput` or `.truncated` if the source ends before them, `.limitExceeded` above `limit`.
    package func data(of id: UInt32, from source: ByteSource, limit: Int) throws(CoderError) -> [UInt8] {
        if let damage = items[id]?.damage { throw damage }
        var joined: [UInt8] = []
        for extent in items[id]?.extents ?? [] {
            let range = try place(extent, in: source)
            if limit > 0, range.count > limit - joined.count {
                throw .limit("metadata", allowed: limit, requested: joined.count + range.count)
            }
            if extent.method == 1 {
                joined += bytes[range]
            } else {
                joined += source.bytes(range)
            }
        }
        return joined
    }

    /// The bytes of an item.
    package func byteCount(of id: UInt32, in source: ByteSource) throws(CoderError) -> Int {
        if let damage = items[id]?.damage { throw damage }
        var count = 0
        for extent in items[id]?.extents ?? [] { count += try place(extent, in: source).count }
        return count
    }

    /// Returns the first bytes of an item stored in the `meta` box itself; nil for any other item.
    package func inlineBytes(of id: UInt32, atMost limit: Int) -> [UInt8]? {
        guard let extents = items[id]?.extents, extents.count == 1, extents[0].method == 1,
            let offset = Int(exactly: extents[0].offset), let length = Int(exactly: extents[0].length),
            offset <= inlineData.count, length <= inlineData.count - offset
        else { return nil }
        let start = inlineData.lowerBound + offset
        return Array(bytes[start..<start + min(length, limit)])
    }

    /// Returns the bytes of the file, or of the 'idat' box, to which an extent refers.
    package func available(_ extent: ItemExtent, in source: ByteSource) -> Int {
        extent.method == 1 ? inlineData.count : source.available
    }

    /// Returns the range of an extent, in the source or (method 1) in `bytes`.
    ///
    /// - Parameter needsData: whether the bytes must be available already.
    package func place(
        _ extent: ItemExtent, in source: ByteSource, needsData: Bool = true
    ) throws(CoderError) -> Range<Int> {
        guard extent.method < 2 else { throw .unsupported("an item made of another item") }
        let inline = extent.method == 1
        let start = inline ? inlineData.lowerBound : 0
        let available = inline || needsData ? available(extent, in: source) : Int.max / 2
        guard let offset = Int(exactly: extent.offset), let length = Int(exactly: extent.length),
            offset <= available, length <= available - offset
        else {
            if inline { throw .corrupt("an item is outside its box") }
            throw source.isComplete ? .truncated("an item is behind the end of the file") : .needsInput
        }
        let end = length == 0 ? max(offset, self.available(extent, in: source)) : offset + length
        return start + offset..<start + end
    }
}

// MARK: Reading

extension ItemTable {
    private mutating func readTypes(_ fields: inout BoxCursor) throws(CoderError) {
        let version = try fields.fullBox().version
        _ = try fields.uint(version == 0 ? 2 : 4)
        var typed: Set<UInt32> = []
        while !fields.isAtEnd {
            guard let box = fields.nextBox() else { return note("the list of items cannot be read to its end") }
            guard box.type == "infe" else { continue }
            do throws(CoderError) {
                try readType(fields.inside(box), &typed)
            } catch {
                if error.code == .limitExceeded { throw error }
                note("the type of an item: \(error.message)")
            }
        }
    }

    private mutating func readType(_ entry: BoxCursor, _ typed: inout Set<UInt32>) throws(CoderError) {
        var entry = entry
        let (version, flags) = try entry.fullBox()
        // Versions 0 and 1 have no item type; they are not used for images.
        guard version >= 2 else { return }
        let id = UInt32(try entry.uint(version == 2 ? 2 : 4))
        guard typed.insert(id).inserted else {
            let twice = CoderError.corrupt("item \(id) has two types")
            try change(id) { $0.damage = $0.damage ?? twice }
            throw twice
        }
        try entry.skip(2)
        let type = FourCC(try entry.u32())
        let name = entry.string()
        try change(id) {
            $0.type = type
            $0.name = name
            $0.isHidden = flags & 1 != 0
        }
        order.append(id)
        guard type == "mime" else { return }
        let content = entry.string()
        let encoding = entry.string()
        try change(id) {
            $0.contentType = content
            $0.contentEncoding = encoding
        }
    }

    private mutating func note(_ problem: String) { links.damage = links.damage ?? problem }

    private mutating func readPlaces(_ fields: inout BoxCursor) throws(CoderError) {
        let version = try fields.fullBox().version
        let sizes = try fields.u16()
        let offsetSize = sizes >> 12
        let lengthSize = sizes >> 8 & 15
        let baseSize = sizes >> 4 & 15
        let indexSize = version == 0 ? 0 : sizes & 15
        for size in [offsetSize, lengthSize, baseSize] where ![0, 4, 8].contains(size) {
            throw .unsupported("an item offset of \(size) bytes")
        }
        // libheif does not read an index in version 1.
        guard indexSize == 0 else { throw .unsupported("items made of other items") }
        var placed: Set<UInt32> = []
        for _ in 0..<(try fields.uint(version < 2 ? 2 : 4)) {
            let id = UInt32(try fields.uint(version < 2 ? 2 : 4))
            guard placed.insert(id).inserted else { throw .corrupt("item \(id) has two positions") }
            let method = version == 0 ? 0 : try fields.u16() & 15
            _ = try fields.u16()
            let base = try fields.uint(baseSize)
            var extents: [ItemExtent] = []
            var damage: CoderError?
            let count = try fields.u16()
            if count > Self.maxExtents {
                damage = .limit("extents of an item", allowed: Self.maxExtents, requested: count)
                try fields.skip(count * (offsetSize + lengthSize))
            } else {
                for _ in 0..<count {
                    let (offset, overflow) = base.addingReportingOverflow(try fields.uint(offsetSize))
                    if overflow { damage = .corrupt("the position of an item overflows") }
                    extents.append(ItemExtent(method: method, offset: offset, length: try fields.uint(lengthSize)))
                }
            }
            try change(id) {
                $0.extents = damage == nil ? extents : []
                $0.damage = $0.damage ?? damage
            }
        }
    }

    private mutating func readReferences(_ fields: inout BoxCursor) throws(CoderError) {
        guard let version = try? fields.fullBox().version else { return note("the list of references is empty") }
        let width = version == 0 ? 2 : 4
        while !fields.isAtEnd {
            guard let box = fields.nextBox() else { return note("the list of references cannot be read to its end") }
            var entry = fields.inside(box)
            guard let from = entry.number(width).map({ UInt32($0) }) else {
                note("a reference '\(box.type)' ends too early")
                continue
            }
            let count = entry.number(2)
            var targets: [UInt32] = []
            while targets.count < count ?? 0, let target = entry.number(width) { targets.append(UInt32(target)) }
            guard let count, targets.count == count else {
                note("a reference '\(box.type)' of item \(from) ends too early")
                // A derived image consists of its targets; other references only describe an item.
                if box.type == "dimg" {
                    try change(from) {
                        $0.damage = $0.damage ?? CoderError.corrupt("the references of item \(from) end too early")
                    }
                }
                continue
            }
            links.outgoing[from, default: []].append(references.count)
            // Once for each item, even if it is repeated: a grid may consist of one tile, 65,535 times.
            for target in targets where links.incoming[target]?.last != references.count {
                links.incoming[target, default: []].append(references.count)
            }
            references.append(ItemReference(type: box.type, from: from, to: targets))
        }
    }

    private mutating func readProperties(_ fields: inout BoxCursor) throws(CoderError) {
        var associations: [Box] = []
        while let box = try fields.box() {
            if box.type == "ipco" {
                var list = fields.inside(box)
                while let property = try list.box() {
                    do throws(CoderError) {
                        properties.append(try ItemProperty(property, in: list))
                    } catch {
                        properties.append(.damaged(error))
                    }
                    propertyBoxes.append(property)
                }
            } else if box.type == "ipma" {
                associations.append(box)
            }
        }
        for box in associations {
            var entry = fields.inside(box)
            let (version, flags) = try entry.fullBox()
            for _ in 0..<(try entry.u32()) {
                let id = UInt32(try entry.uint(version == 0 ? 2 : 4))
                var found: [ItemAssociation] = []
                var damage: CoderError?
                for _ in 0..<(try entry.u8()) {
                    let field = flags & 1 == 0 ? try entry.u8() : try entry.u16()
                    let essential = flags & 1 == 0 ? 0x80 : 0x8000
                    let index = field & (essential - 1)
                    if index == 0 { continue }
                    guard index <= properties.count else {
                        damage = .corrupt("item \(id) refers to a missing property")
                        continue
                    }
                    found.append(ItemAssociation(index: index - 1, isEssential: field & essential != 0))
                }
                // The maximum of one list; a second list of an item is added to the first.
                try change(id) {
                    $0.properties += found.prefix(255 - $0.properties.count)
                    $0.damage = $0.damage ?? damage
                }
            }
        }
    }

    /// Reads the groups up to the first damaged one: decoding needs no groups.
    private mutating func readGroups(_ fields: inout BoxCursor) {
        while let box = try? fields.box() {
            var entry = fields.inside(box)
            guard (try? entry.fullBox()) != nil, let id = try? entry.u32(), let count = try? entry.u32() else { return }
            var members: [UInt32] = []
            while members.count < Int(count), let member = try? entry.u32() { members.append(member) }
            groups.append(EntityGroup(type: box.type, id: id, members: members))
        }
    }

    private mutating func change(_ id: UInt32, _ body: (inout Item) -> Void) throws(CoderError) {
        guard items[id] != nil || items.count < Self.maxItems else {
            throw .limit("items", allowed: Self.maxItems, requested: items.count + 1)
        }
        body(&items[id, default: Item(id: id, type: FourCC(0))])
    }
}
