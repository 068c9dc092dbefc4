package import CoderPluginKit
package import ImageModel

/// Boxes that present a single image of a file to a library, with only the items of which it consists.
///
/// In front of the file they form a new file, in which the original file is a data box.
///
///     ftyp | meta | mdat: the file
///
/// libheif 1.15 and libavif 0.11 read only the items of the image, its tiles and its alpha, so other items cannot make
/// them fail.
package struct Excerpt {
    package private(set) var prefix: [UInt8] = []
    /// The number of bytes of the file that follow; more may have arrived since.
    package let dataCount: Int
    private let members: [Member]
    private let numbers: [UInt32: UInt16]
    private let derivations: Derivations
    private let brand: FourCC
    /// Data of items that is stored in the `meta` box itself.
    private var inline: [UInt8] = []

    private struct Member {
        let item: Item
        let properties: [ItemAssociation]
        let isInline: Bool
        let places: [Range<Int>]
    }

    /// - Parameters:
    ///   - members: all needed items, that of the image first.
    ///   - brand: the brand of the new file.
    ///   - needsData: whether the bytes of the items must be available.
    ///   - keeping: selects the properties that the items keep.
    package init(
        _ members: [UInt32], in derivations: Derivations, from source: ByteSource, brand: FourCC = "mif1",
        needsData: Bool = true, keeping: (ItemProperty) -> Bool = { _ in true }
    ) throws(CoderError) {
        let table = derivations.table
        var found: [Member] = []
        var links = 0
        for id in members {
            guard let item = table.items[id] else {
                throw .corrupt("item \(id), a part of an image, is missing")
            }
            var places: [Range<Int>] = []
            let isInline = item.extents.first?.method == 1
            for extent in item.extents {
                let place = try table.place(extent, in: source, needsData: needsData)
                // A length of 0 means "up to the end".
                if place.isEmpty { continue }
                places.append(isInline ? inline.count..<inline.count + place.count : place)
                if isInline { inline += table.bytes[place] }
            }
            let properties = item.properties.filter { keeping(table.properties[$0.index]) }
            found.append(Member(item: item, properties: properties, isInline: isInline, places: places))
            links += table.targets("dimg", from: id).count + 2
        }
        // Libraries search all references for every item.
        let steps = links.multipliedReportingOverflow(by: found.count)
        if steps.overflow || steps.partialValue > 50_000_000 {
            throw .limit("references", allowed: 50_000_000, requested: steps.partialValue)
        }
        self.members = found
        (self.derivations, self.brand) = (derivations, brand)
        dataCount = source.available
        numbers = Dictionary(uniqueKeysWithValues: members.enumerated().map { ($1, UInt16($0 + 1)) })
        prefix = boxes(shift: boxes(shift: 0).count)
    }

    private func boxes(shift: Int) -> [UInt8] {
        var out = BoxWriter()
        out.box("ftyp") {
            $0.code(brand)
            $0.u32(0)
            $0.code(brand)
        }
        out.fullBox("meta") { meta(&$0, shift: shift) }
        // An eight-byte size, for a file of any length.
        out.u32(1)
        out.code("mdat")
        out.u64(16 + dataCount)
        return out.bytes
    }

    private func meta(_ out: inout BoxWriter, shift: Int) {
        out.fullBox("hdlr") {
            $0.u32(0)
            $0.code("pict")
            $0.bytes += [UInt8](repeating: 0, count: 13)
        }
        out.fullBox("pitm") { $0.u16(1) }
        out.fullBox("iloc", version: 1) { places(&$0, shift: shift) }
        out.fullBox("iinf") { types(&$0) }
        if members.count > 1 { out.fullBox("iref") { references(&$0) } }
        out.box("iprp") { properties(&$0) }
        if !inline.isEmpty { out.box("idat") { $0.bytes += inline } }
    }

    private func places(_ out: inout BoxWriter, shift: Int) {
        // The bytes of an offset and of a length.
        out.u16(0x8800)
        out.u16(UInt16(members.count))
        for (index, member) in members.enumerated() {
            out.u16(UInt16(index + 1))
            out.u16(member.isInline ? 1 : 0)
            out.u16(0)
            out.u16(UInt16(member.places.count))
            for place in member.places {
                out.u64(place.lowerBound + (member.isInline ? 0 : shift))
                out.u64(place.count)
            }
        }
    }

    private func types(_ out: inout BoxWriter) {
        out.u16(UInt16(members.count))
        for (index, member) in members.enumerated() {
            out.fullBox("infe", version: 2, flags: index == 0 ? 0 : 1) {
                $0.u16(UInt16(index + 1))
                $0.u16(0)
                $0.code(member.item.type)
                $0.bytes.append(0)
            }
        }
    }

    private func references(_ out: inout BoxWriter) {
        for member in members {
            let id = member.item.id
            link("dimg", from: id, to: derivations.table.targets("dimg", from: id), &out)
            guard let alpha = (try? derivations.alpha(id)) ?? nil else { continue }
            link("auxl", from: alpha, to: [id], &out)
            if !derivations.table.targets("prem", from: id).isEmpty { link("prem", from: id, to: [alpha], &out) }
        }
    }

    private func link(_ type: FourCC, from: UInt32, to targets: [UInt32], _ out: inout BoxWriter) {
        let known = targets.compactMap { numbers[$0] }
        guard let number = numbers[from], !known.isEmpty, known.count <= Int(UInt16.max) else { return }
        out.box(type) {
            $0.u16(number)
            $0.u16(UInt16(known.count))
            for target in known { $0.u16(target) }
        }
    }

    private func properties(_ out: inout BoxWriter) {
        let table = derivations.table
        var places: [Int: UInt16] = [:]
        out.box("ipco") { list in
            for association in members.lazy.flatMap(\.properties) where places[association.index] == nil {
                let box = table.propertyBoxes[association.index]
                list.box(box.type) { $0.bytes += table.bytes[box.payload] }
                places[association.index] = UInt16(places.count + 1)
            }
        }
        // Property numbers of two bytes.
        out.fullBox("ipma", flags: 1) {
            $0.u32(UInt32(members.count))
            for (index, member) in members.enumerated() {
                $0.u16(UInt16(index + 1))
                $0.bytes.append(UInt8(member.properties.count))
                for association in member.properties {
                    $0.u16((places[association.index] ?? 0) | (association.isEssential ? 0x8000 : 0))
                }
            }
        }
    }
}
