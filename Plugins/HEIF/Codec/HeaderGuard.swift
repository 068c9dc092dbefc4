internal import CoderPluginKit
internal import ImageModel

/// Refuses what would make libheif 1.15 run in circles, copy without end, or take memory that the header hides.
///
/// libheif trusts the sizes in the boxes for its limits, while its decoders trust the sizes in the streams; it follows
/// derived pictures without looking for circles; and it copies the bytes of every item once while it reads the boxes.
struct HeaderGuard {
    let table: ItemTable
    let limits: DecodeLimits

    /// Looks at what stands in the boxes.
    func checkBoxes() throws(CoderError) {
        // libheif looks through all references for every item.
        let steps = table.items.count * table.linkCount
        if steps > 50_000_000 { throw .limit("references", allowed: 50_000_000, requested: steps) }
        let picture = try Picture(table.primary, in: table)
        try check(picture.size)
        let images = table.items.values.filter(\.isImage).map(\.id).sorted()
        for id in images { try checkConfiguration(of: id) }
        var walk = Walk(table: table, limits: limits)
        // Any picture may be asked for its depth, which follows its first source.
        for id in images { try walk.visit(id, depth: 0) }
        // Overlays may draw the same picture thousands of times.
        let allowed = max(16 * (picture.size.area ?? 0), 64_000_000)
        let cost = walk.cost(of: table.primary)
        if cost > allowed { throw .limit("pixels", allowed: allowed, requested: cost) }
    }

    /// Looks at the bytes of the items, which all have to be there.
    func checkItems(in source: ByteSource) throws(CoderError) {
        // In one order, so that of several faults the same one is told every time.
        let items = table.items.values.sorted { $0.id < $1.id }
        var copied = 0
        let allowed = 16 * source.available + (64 << 20)
        for item in items {
            var total = 0
            for extent in item.extents where extent.method < 2 {
                total += try table.place(extent, in: source).count
                let available = table.available(extent, in: source)
                if total > available { throw .corrupt("item \(item.id) has \(total) bytes, its place \(available)") }
            }
            copied += total
            if copied > allowed { throw .limit("bytes of all items", allowed: allowed, requested: copied) }
        }
        for item in items where item.isImage {
            let data = try table.data(of: item.id, from: source, limit: 0)
            switch item.type {
            case "hvc1": try checkUnits(data, of: item.id)
            case "av01":
                if let size = CodedSize.av1(data[...]) { try checkCoded(size, of: item.id) }
            case "grid":
                try check(Self.gridCanvas(data))
                try GridGuard(table: table).check(item.id, rule: data, in: source)
            case "iovl": try check(Self.canvas(data, sizesAt: 10))
            default: break
            }
        }
    }

    private func check(_ size: PixelSize) throws(CoderError) {
        let side = max(size.width, size.height)
        if limits.maxSide > 0, side > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: side)
        }
        let area = size.area ?? Int.max
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
    }

    private func checkConfiguration(of id: UInt32) throws(CoderError) {
        for property in table.properties(of: id) {
            switch property {
            case .extent(let size): try check(size)
            case .hevc(let configuration):
                for range in configuration.parameterSets {
                    if let size = CodedSize.hevc(table.bytes[range]) { try checkCoded(size, of: id) }
                }
            case .av1(let configuration):
                if let size = CodedSize.av1(table.bytes[configuration.headers]) { try checkCoded(size, of: id) }
            default: break
            }
        }
    }

    private func checkUnits(_ data: [UInt8], of id: UInt32) throws(CoderError) {
        for unit in Self.units(data) {
            if let size = CodedSize.hevc(unit) { try checkCoded(size, of: id) }
        }
    }

    /// NAL units behind 4 bytes of length each, which is all that libheif reads.
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

    /// A coded picture is padded to whole blocks and may be cropped, but not from a wall to a stamp.
    private func checkCoded(_ size: PixelSize, of id: UInt32) throws(CoderError) {
        try check(size)
        for property in table.properties(of: id) {
            guard case .extent(let stored) = property, let area = size.area else { continue }
            if area / 8 > (stored.area ?? 0) + 65_536 {
                throw .corrupt("a picture of \(stored) holds a stream of \(size)")
            }
        }
    }

    /// The size of a grid's canvas.
    static func gridCanvas(_ data: [UInt8]) throws(CoderError) -> PixelSize { try canvas(data, sizesAt: 4) }

    /// The size of a grid's or an overlay's canvas.
    ///
    /// - Source: ISO/IEC 23008-12 sections 6.6.2.2 and 6.6.2.3.
    private static func canvas(_ data: [UInt8], sizesAt start: Int) throws(CoderError) -> PixelSize {
        guard data.count > 1 else { throw .corrupt("a derived picture without a rule") }
        var fields = BoxCursor(data)
        try fields.skip(start)
        let width = data[1] & 1 == 0 ? 2 : 4
        return PixelSize(Int(try fields.uint(width)), Int(try fields.uint(width)))
    }
}

/// A walk from a picture to those it is made of.
private struct Walk {
    let table: ItemTable
    let limits: DecodeLimits
    private var state: [UInt32: Bool] = [:]
    private var costs: [UInt32: Int] = [:]

    init(table: ItemTable, limits: DecodeLimits) {
        self.table = table
        self.limits = limits
    }

    /// - Throws: `.corrupt` when the picture is made of itself, `.limitExceeded` when it nests too deeply.
    mutating func visit(_ id: UInt32, depth: Int) throws(CoderError) {
        if let isDone = state[id] {
            if isDone { return }
            throw .corrupt("a picture is made of itself")
        }
        let deepest = limits.maxNesting > 0 ? limits.maxNesting : 100
        if depth > deepest { throw .limit("nesting", allowed: deepest, requested: depth) }
        state[id] = false
        var total = table.properties(of: id).reduce(0) {
            if case .extent(let size) = $1 { max($0, size.area ?? 0) } else { $0 }
        }
        let sources = table.targets("dimg", from: id) + table.sources("auxl", to: id)
        for source in sources {
            try visit(source, depth: depth + 1)
            total = total.addingReportingOverflow(costs[source] ?? 0).partialValue
            if total < 0 || total > Int.max / 2 { throw .limit("pixels", allowed: limits.maxPixels, requested: total) }
        }
        costs[id] = total
        state[id] = true
    }

    func cost(of id: UInt32) -> Int { costs[id] ?? 0 }
}
