internal import CoderPluginKit
internal import ImageModel

/// A `meta` box whose metadata items are removed, replaced or added, and whose thumbnails are removed.
///
/// A replaced item keeps its number and its references, and gets new bytes elsewhere.
struct MetaEdit {
    private var lists: MetaLists
    private var removed: Set<UInt32> = []
    private var renewed: [UInt32: MetadataBlob.Kind] = [:]
    private var added: [(id: UInt32, kind: MetadataBlob.Kind)] = []
    /// The number of removed thumbnails.
    private(set) var thumbnails = 0

    /// - Parameter adds: whether new metadata that replaces none is added.
    init(_ lists: MetaLists, _ change: MetadataChange, adds: Bool) throws(CoderError) {
        self.lists = lists
        let own = lists.primary.map { primary in
            Set(lists.references.filter { $0.type == "cdsc" && $0.to.contains(primary) }.map(\.from))
        }
        for (kind, _) in change.payloads {
            // In the box of a track, all items describe the track.
            let old = lists.items.filter { $0.kind == kind && own?.contains($0.id) != false }.map(\.id)
            if let first = old.first {
                renewed[first] = kind
                removed.formUnion(old.dropFirst())
            } else if adds {
                guard let id = lists.freeID(beside: Set(added.map(\.id))) else {
                    throw .refused("the file holds too many items for one more")
                }
                added.append((id, kind))
            }
        }
        for item in lists.items where renewed[item.id] == nil {
            if let kind = item.kind, change.removed.contains(kind) { removed.insert(item.id) }
        }
        if change.removesThumbnails, lists.primary != nil {
            let found = ThumbnailItems(lists)
            thumbnails = found.count
            removed.formUnion(found.items)
        }
        self.lists.properties.remove(items: removed)
        self.lists.properties.remove(
            profiles: change.removed.contains(.icc), descriptions: change.removed.contains(.text))
        if change.transform != .up { try turn(by: change.transform) }
        self.lists.properties.removeUnused()
    }

    /// Turns the primary image with its thumbnails and auxiliary images.
    private mutating func turn(by transform: Orientation) throws(CoderError) {
        guard let primary = lists.primary else { return }
        var turned: [UInt32] = [primary]
        for reference in lists.references {
            switch reference.type {
            case "thmb", "auxl":
                if removed.contains(reference.from) { continue }
                if reference.to == [primary] { turned.append(reference.from) }
                if reference.to.count > 1, reference.to.contains(primary) {
                    throw .refused("item \(reference.from) belongs to several images, so the image cannot be turned")
                }
            case "dimg" where reference.to.contains(primary) && !removed.contains(reference.from):
                throw .refused("item \(reference.from) is derived from the image, so the image cannot be turned")
            default: break
            }
        }
        for id in Set(turned).sorted() { try lists.properties.turn(id, by: transform) }
    }

    var isChanged: Bool {
        !removed.isEmpty || !renewed.isEmpty || !added.isEmpty || lists.properties.isChanged
    }

    /// Whether items of a kind need a position of new bytes.
    var needsPayloads: Bool { !renewed.isEmpty || !added.isEmpty }

    /// The bytes of the file that belong to old metadata, and those that belong to other items.
    var ranges: (old: [Range<Int>], kept: [Range<Int>]) { ranges(method: 0) }

    private func ranges(method: Int) -> (old: [Range<Int>], kept: [Range<Int>]) {
        var found: (old: [Range<Int>], kept: [Range<Int>]) = ([], [])
        for entry in lists.locations.entries where entry.method == method {
            if isOld(entry.id) { found.old += entry.extents } else { found.kept += entry.extents }
        }
        return found
    }

    private func isOld(_ id: UInt32) -> Bool { removed.contains(id) || renewed[id] != nil }

    // MARK: Writing

    /// Returns the payload of the changed box.
    ///
    /// - Throws: `.refused` if the bytes of an item cannot move.
    func write(_ places: NewPlaces) throws(CoderError) -> [UInt8] {
        var out = BoxWriter()
        out.bytes = Array(lists.bytes.prefix(4))
        var missing: [FourCC] = ["iloc", "iinf"]
        if lists.bytes.isEmpty {
            out.u32(0)
            missing.insert("hdlr", at: 0)
        }
        if !added.isEmpty, lists.primary != nil { missing.append("iref") }
        if !needsPayloads { missing = [] }
        let inline = ranges(method: 1)
        let cuts = RangeSet(inline.old).subtracting(RangeSet(inline.kept))
        let splices = Splices(cuts.ranges.map { Splice(range: $0, bytes: []) })
        for child in lists.children {
            missing.removeAll { $0 == child.type }
            try write(child.type, child, places, splices, &out)
        }
        for type in missing { try write(type, nil, places, splices, &out) }
        return out.bytes
    }

    private func write(
        _ type: FourCC, _ child: MetaLists.Child?, _ places: NewPlaces, _ inline: Splices, _ out: inout BoxWriter
    ) throws(CoderError) {
        switch type {
        case "hdlr" where child == nil:
            out.fullBox("hdlr") {
                $0.u32(0)
                $0.code("pict")
                $0.bytes += [UInt8](repeating: 0, count: 13)
            }
        case "iinf": try writeItems(&out)
        case "iloc": try moved(places, inline).write(isWide: places.isWide, &out)
        case "iref": writeReferences(&out)
        case "iprp" where lists.properties.isChanged: try lists.properties.write(&out)
        case "idat" where !inline.list.isEmpty:
            let kept = inline.applied(to: ArraySlice(Array(lists.bytes[lists.inline])))
            out.box("idat") { $0.bytes += kept }
        case "grpl" where !removed.isEmpty:
            guard let child else { return }
            let groups = try groups(BoxCursor(lists.bytes, child.payload))
            out.box("grpl") { $0.bytes += groups }
        default: if let child { out.bytes += lists.bytes[child.range] }
        }
    }

    private func writeItems(_ out: inout BoxWriter) throws(CoderError) {
        let kept = lists.items.filter { !removed.contains($0.id) }
        let count = kept.count + added.count
        guard lists.itemsVersion > 0 || count <= Int(UInt16.max) else {
            throw .refused("the file holds too many items for one more")
        }
        out.fullBox("iinf", version: UInt8(lists.itemsVersion)) {
            if lists.itemsVersion == 0 { $0.u16(UInt16(count)) } else { $0.u32(UInt32(count)) }
            for item in kept {
                if let kind = renewed[item.id] {
                    Self.writeType(kind, item.id, &$0)
                } else {
                    $0.bytes += lists.bytes[item.entry]
                }
            }
            for (id, kind) in added { Self.writeType(kind, id, &$0) }
        }
    }

    /// Writes the type of a metadata item, which is hidden: it is no image.
    private static func writeType(_ kind: MetadataBlob.Kind, _ id: UInt32, _ out: inout BoxWriter) {
        let isShort = id <= UInt32(UInt16.max)
        out.fullBox("infe", version: isShort ? 2 : 3, flags: 1) {
            if isShort { $0.u16(UInt16(id)) } else { $0.u32(id) }
            $0.u16(0)
            $0.code(kind == .exif ? "Exif" : "mime")
            $0.text("")
            if kind == .xmp { $0.text(MetaLists.xmpType) }
        }
    }

    private func moved(_ places: NewPlaces, _ inline: Splices) throws(CoderError) -> ItemLocations {
        var locations = lists.locations
        locations.entries = []
        for entry in lists.locations.entries where !isOld(entry.id) {
            var entry = entry
            for index in entry.extents.indices {
                let old = entry.extents[index]
                guard let new = entry.method == 1 ? inline.moved(old) : places.moved(old) else {
                    throw .refused("item \(entry.id) is not inside one data box and cannot be moved")
                }
                entry.extents[index] = new
            }
            locations.entries.append(entry)
        }
        for (id, kind) in renewed.sorted(by: { $0.key < $1.key }) + added.map({ (key: $0.id, value: $0.kind) }) {
            guard let place = places.payloads[kind] else { continue }
            locations.entries.append(ItemLocations.Entry(id: id, extents: place.isEmpty ? [] : [place]))
        }
        return locations
    }

    private func writeReferences(_ out: inout BoxWriter) {
        let isNew = !lists.children.contains { $0.type == "iref" }
        let version = isNew && lists.primary ?? 0 > UInt32(UInt16.max) ? 1 : lists.referencesVersion
        var references = lists.references.compactMap { reference -> ItemReference? in
            if removed.contains(reference.from) { return nil }
            let kept = reference.to.filter { !removed.contains($0) }
            return kept.isEmpty && !reference.to.isEmpty
                ? nil : ItemReference(type: reference.type, from: reference.from, to: kept)
        }
        if let primary = lists.primary {
            references += added.map { ItemReference(type: "cdsc", from: $0.id, to: [primary]) }
        }
        out.fullBox("iref", version: UInt8(version)) { out in
            for reference in references {
                out.box(reference.type) {
                    Self.number(reference.from, version, &$0)
                    $0.u16(UInt16(reference.to.count))
                    for id in reference.to { Self.number(id, version, &$0) }
                }
            }
        }
    }

    private static func number(_ id: UInt32, _ version: Int, _ out: inout BoxWriter) {
        if version == 0 { out.u16(UInt16(truncatingIfNeeded: id)) } else { out.u32(id) }
    }

    /// Returns the groups without the removed items.
    private func groups(_ boxes: BoxCursor) throws(CoderError) -> [UInt8] {
        var boxes = boxes
        var out = BoxWriter()
        while let box = try boxes.box() {
            var entry = boxes.inside(box)
            let head = Array(entry.bytes[entry.remaining].prefix(8))
            try entry.skip(8)
            var members: [UInt32] = []
            for _ in 0..<(try entry.u32()) {
                let id = try entry.u32()
                if !removed.contains(id) { members.append(id) }
            }
            let rest = entry.bytes[entry.remaining]
            if members.isEmpty { continue }
            out.box(box.type) {
                $0.bytes += head
                $0.u32(UInt32(members.count))
                for id in members { $0.u32(id) }
                $0.bytes += rest
            }
        }
        return out.bytes
    }
}
