internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Refuses items that make libheif 1.15 copy without end or allocate memory that the header hides.
struct HeaderGuard {
    let derivations: Derivations

    /// Checks the positions and the bytes of the items that an image consists of.
    ///
    /// libheif reads no other items (``Excerpt``), so damage in them does not matter here.
    ///
    /// - Parameters:
    ///   - members: the items that are decoded; their bytes must be there.
    ///   - byTile: whether tiles of a grid are decoded one by one, without its canvas.
    func checkItems(_ members: [UInt32], in source: ByteSource, byTile: Bool = false) throws(CoderError) {
        let table = derivations.table
        // In a fixed order, so that of several faults the same one is reported every time.
        for item in members.sorted().compactMap({ table.items[$0] }) {
            var total = 0
            for extent in item.extents where extent.method < 2 {
                total += try table.place(extent, in: source).count
                let available = table.available(extent, in: source)
                if total > available { throw .corrupt("item \(item.id) has \(total) bytes, its range \(available)") }
            }
        }
        var copied = 0
        let allowed = 16 * source.available + (64 << 20)
        for id in members.sorted() {
            let data = try table.data(of: id, from: source, limit: 0)
            copied += data.count + table.propertyBytes(of: id)
            if copied > allowed { throw .limit("bytes of all items", allowed: allowed, requested: copied) }
            switch table.items[id]?.type {
            case "hvc1":
                for unit in Self.units(data) {
                    if let size = CodedSize.hevc(unit) { try derivations.checkCoded(size, of: id) }
                }
            case "av01":
                if let size = CodedSize.av1(data[...]) { try derivations.checkCoded(size, of: id) }
            case "grid":
                if !byTile { try derivations.check(DerivedCanvas.grid(data)) }
                try GridGuard(table: table).check(id, rule: data, reading: Set(members), in: source)
            case "iovl": try derivations.check(DerivedCanvas.overlay(data))
            default: break
            }
        }
    }

    /// NAL units, each behind its length of 4 bytes, the only form that libheif reads.
    static func units(_ data: [UInt8]) -> [ArraySlice<UInt8>] {
        var units: [ArraySlice<UInt8>] = []
        var rest = data[...]
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            units.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return units
    }
}
