internal import ImageModel

/// The properties of all items: the `iprp` box.
///
///     iprp ─┬─ ipco  properties, counted from 1
///           └─ ipma  their numbers, for each item
///
/// - Source: ISO/IEC 23008-12 section 9.3; ISO/IEC 14496-12:2022 section 8.11.14.
struct PropertyLists {
    /// A complete box, and its meaning.
    private struct Property {
        let bytes: [UInt8]
        let type: FourCC
        let meaning: ItemProperty
        /// Whether an item has had it; a property without items stays as it is.
        var hadItems = false
    }

    private struct Association {
        var property: Int
        let isEssential: Bool
    }

    private struct List {
        let version: Int
        let hasWideNumbers: Bool
        var entries: [(id: UInt32, properties: [Association])] = []
    }

    private var properties: [Property] = []
    private var lists: [List] = []
    /// Other boxes, unchanged.
    private var others: [UInt8] = []
    private(set) var isChanged = false

    init() {}

    init(_ fields: BoxCursor) throws(CoderError) {
        var boxes = fields
        var start = boxes.offset
        while let box = try boxes.box() {
            defer { start = boxes.offset }
            switch box.type {
            case "ipco": try readProperties(boxes.inside(box))
            case "ipma": try readList(boxes.inside(box))
            default: others += boxes.bytes[start..<boxes.offset]
            }
        }
        for association in lists.lazy.flatMap(\.entries).flatMap(\.properties) {
            guard association.property <= properties.count else { throw .corrupt("an item has a missing property") }
            if association.property > 0 { properties[association.property - 1].hadItems = true }
        }
    }

    private mutating func readProperties(_ fields: BoxCursor) throws(CoderError) {
        var boxes = fields
        var start = boxes.offset
        while let box = try boxes.box() {
            var meaning = ItemProperty.other(box.type)
            do throws(CoderError) { meaning = try ItemProperty(box, in: boxes) } catch { meaning = .damaged(error) }
            properties.append(
                Property(bytes: Array(boxes.bytes[start..<boxes.offset]), type: box.type, meaning: meaning))
            start = boxes.offset
        }
    }

    private mutating func readList(_ fields: BoxCursor) throws(CoderError) {
        var fields = fields
        let (version, flags) = try fields.fullBox()
        var list = List(version: version, hasWideNumbers: flags & 1 != 0)
        for _ in 0..<(try fields.u32()) {
            let id = UInt32(try fields.uint(version == 0 ? 2 : 4))
            var found: [Association] = []
            for _ in 0..<(try fields.u8()) {
                let field = list.hasWideNumbers ? try fields.u16() : try fields.u8()
                let essential = list.hasWideNumbers ? 0x8000 : 0x80
                found.append(Association(property: field & (essential - 1), isEssential: field & essential != 0))
            }
            list.entries.append((id, found))
        }
        lists.append(list)
    }

    /// Every item with a list.
    var items: Set<UInt32> { Set(lists.lazy.flatMap(\.entries).map(\.id)) }

    // MARK: Changes

    /// Removes all lists of an item.
    mutating func remove(items: Set<UInt32>) {
        for index in lists.indices where lists[index].entries.contains(where: { items.contains($0.id) }) {
            lists[index].entries.removeAll { items.contains($0.id) }
            isChanged = true
        }
    }

    /// Removes color profiles, or descriptions in words, from all items.
    mutating func remove(profiles: Bool, descriptions: Bool) {
        remove { property, _ in
            if profiles, case .profile = property.meaning { return true }
            return descriptions && property.type == "udes"
        }
    }

    /// Removes the properties whose last item was removed or has another property instead.
    mutating func removeUnused() {
        let used = Set(lists.lazy.flatMap(\.entries).flatMap(\.properties).map(\.property))
        remove { property, number in property.hadItems && !used.contains(number) }
    }

    /// - Parameter isRemoved: gets a property and its number.
    private mutating func remove(where isRemoved: (Property, Int) -> Bool) {
        var kept: [Property] = []
        // Number 0 stands for no property.
        var numbers = [0]
        for (index, property) in properties.enumerated() {
            let isRemoved = isRemoved(property, index + 1)
            if !isRemoved { kept.append(property) }
            numbers.append(isRemoved ? -1 : kept.count)
        }
        if kept.count == properties.count { return }
        isChanged = true
        properties = kept
        change { _, list in
            list = list.compactMap { numbers[$0.property] < 0 ? nil : Self.renumbered($0, numbers[$0.property]) }
        }
    }

    private static func renumbered(_ association: Association, _ number: Int) -> Association {
        Association(property: number, isEssential: association.isEssential)
    }

    private mutating func change(_ body: (UInt32, inout [Association]) -> Void) {
        for list in lists.indices {
            for entry in lists[list].entries.indices {
                body(lists[list].entries[entry].id, &lists[list].entries[entry].properties)
            }
        }
    }

    /// Turns and mirrors the shown image of an item further.
    ///
    /// - Throws: `.refused` if the item crops after it turns.
    mutating func turn(_ id: UInt32, by transform: Orientation) throws(CoderError) {
        let places = lists.indices.flatMap { list in
            lists[list].entries.indices.filter { lists[list].entries[$0].id == id }.map { (list: list, entry: $0) }
        }
        guard places.count < 2 else { throw .refused("item \(id) has two lists of properties and cannot be turned") }
        var shown = Orientation.up
        var kept: [Association] = []
        for association in places.first.map({ lists[$0.list].entries[$0.entry].properties }) ?? [] {
            let meaning = association.property > 0 ? properties[association.property - 1].meaning : .other("free")
            switch meaning {
            case .rotation(let turns): shown = shown.followed(by: Self.turns[turns])
            case .mirror(let axis): shown = shown.followed(by: axis == 0 ? .downMirrored : .upMirrored)
            case .cleanAperture where shown != .up: throw .refused("item \(id), cropped after a turn, cannot be turned")
            default: kept.append(association)
            }
        }
        shown = shown.followed(by: transform)
        for turns in 0..<4 {
            let isMirrored = Self.turns[turns].followed(by: .upMirrored) == shown
            guard isMirrored || Self.turns[turns] == shown else { continue }
            if turns > 0 { kept.append(association("irot", UInt8(turns))) }
            if isMirrored { kept.append(association("imir", 1)) }
            break
        }
        guard kept.count < 256 else { throw .refused("item \(id) has too many properties to turn it") }
        isChanged = true
        if let place = places.first {
            lists[place.list].entries[place.entry].properties = kept
        } else if !kept.isEmpty {
            var list = List(version: id > UInt32(UInt16.max) ? 1 : 0, hasWideNumbers: false)
            list.entries = [(id, kept)]
            lists.append(list)
        }
    }

    /// The orientations after counterclockwise quarter turns.
    private static let turns: [Orientation] = [.up, .left, .down, .right]

    /// Returns a reference to a property of one byte, which items may share; adds the property if it is new.
    private mutating func association(_ type: FourCC, _ value: UInt8) -> Association {
        var out = BoxWriter()
        out.box(type) { $0.bytes.append(value) }
        if let known = properties.firstIndex(where: { $0.bytes == out.bytes }) {
            return Association(property: known + 1, isEssential: true)
        }
        let meaning: ItemProperty = type == "irot" ? .rotation(Int(value)) : .mirror(Int(value))
        properties.append(Property(bytes: out.bytes, type: type, meaning: meaning, hadItems: true))
        return Association(property: properties.count, isEssential: true)
    }

    // MARK: Writing

    func write(_ out: inout BoxWriter) throws(CoderError) {
        guard properties.count < 0x8000 else { throw .refused("the file has too many properties for one more") }
        out.box("iprp") { out in
            out.box("ipco") { list in for property in properties { list.bytes += property.bytes } }
            for list in lists { write(list, &out) }
            out.bytes += others
        }
    }

    private func write(_ list: List, _ out: inout BoxWriter) {
        let isWide = list.hasWideNumbers || list.entries.contains { $0.properties.contains { $0.property > 127 } }
        out.fullBox("ipma", version: UInt8(list.version), flags: isWide ? 1 : 0) {
            $0.u32(UInt32(list.entries.count))
            for entry in list.entries {
                if list.version == 0 { $0.u16(UInt16(truncatingIfNeeded: entry.id)) } else { $0.u32(entry.id) }
                $0.bytes.append(UInt8(entry.properties.count))
                for association in entry.properties {
                    let number = UInt16(association.property)
                    if isWide {
                        $0.u16(number | (association.isEssential ? 0x8000 : 0))
                    } else {
                        $0.bytes.append(UInt8(number) | (association.isEssential ? 0x80 : 0))
                    }
                }
            }
        }
    }
}
