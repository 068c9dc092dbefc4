internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Checks the lists of a `meta` box before libavif reads them.
///
///     iloc  sizes of offset, length, base, index: 4 bits each │ items │ item …
///     item  number │ [method] │ 2 │ base │ extents │ ([index] │ offset │ length) …
///
/// libavif 0.11 allocates the sum of all lengths if an item has several extents. For each item number, it searches its
/// list from the start. An item with one extent takes no memory.
///
/// - Source: ISO/IEC 14496-12:2022 section 8.11.3.
enum ItemExtents {
    /// The maximum number of extents; libavif allocates 16 bytes for each, even for an empty one.
    private static let mostExtents = 1_000_000

    /// Throws `.corrupt` if an item is larger than the file, `.limitExceeded` if a list is too long.
    ///
    /// - Returns: the maximum number of tiles in grids.
    /// - Throws: `.needsInput` while bytes of an item with several extents are missing.
    static func check(_ source: ByteSource) throws(CoderError) -> Int {
        var tiles = 0
        if let meta = Container.range(of: "meta", in: source), meta.upperBound <= source.available {
            tiles = try check(BoxCursor(source.bytes(meta)), in: source)
        }
        // libavif also reads the metadata of each track.
        guard let movie = Container.payload("moov", of: source, atMost: .max) else { return tiles }
        for track in BoxCursor(movie).all("trak") {
            for meta in track.all("meta") { _ = try check(meta, in: source) }
            if let table = track.first("mdia", "minf", "stbl") { try SampleTables.check(table) }
        }
        return tiles
    }

    /// - Parameter meta: the payload of a `meta` box.
    private static func check(_ meta: BoxCursor, in source: ByteSource) throws(CoderError) -> Int {
        var children = meta
        guard children.skips(4) else { return 0 }
        var searches = ItemSearches()
        try checkLocations(children, in: source, &searches)
        try searches.count(children)
        return searches.tiles
    }

    private static func checkLocations(
        _ meta: BoxCursor, in source: ByteSource, _ searches: inout ItemSearches
    ) throws(CoderError) {
        guard var list = meta.first("iloc"), let version = list.number(4).map({ $0 >> 24 }),
            let sizes = list.number(2).map({ Int($0) }), let items = list.number(version < 2 ? 2 : 4)
        else { return }
        let inline = meta.first("idat").map { $0.end - $0.offset } ?? 0
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version == 0 ? 0 : sizes & 15
        var extents = 0
        for _ in 0..<items {
            // libavif refuses a list that ends early.
            guard let number = list.number(version < 2 ? 2 : 4), let method = list.number(version == 0 ? 0 : 2),
                list.skips(2 + baseSize), let count = list.number(2)
            else { return }
            try searches.add(number)
            extents += Int(count)
            if extents > mostExtents { throw .limit("extents", allowed: mostExtents, requested: extents) }
            var total: UInt64 = 0
            for _ in 0..<count {
                guard list.skips(indexSize + offsetSize), let length = list.number(lengthSize) else { return }
                let (sum, overflow) = total.addingReportingOverflow(length)
                total = overflow ? .max : sum
            }
            if count < 2 { continue }
            if method & 15 == 1 {
                if total > inline { throw .corrupt("item \(number) has \(total) bytes, its 'idat' box \(inline)") }
            } else if total > source.available {
                guard source.isComplete else { throw .needsInput }
                throw .corrupt("item \(number) has \(total) bytes, the file \(source.available)")
            }
        }
    }
}

/// Counts how often libavif searches its list of items from the start.
private struct ItemSearches {
    /// Comparisons of item numbers: about 0.2 seconds.
    private static let mostSteps = 100_000_000
    private var items: Set<UInt64> = []
    private var searches = 0
    /// Items that other items are made of.
    private(set) var tiles = 0

    mutating func add(_ number: UInt64) throws(CoderError) {
        searches += 1
        items.insert(number)
        let (steps, overflow) = searches.multipliedReportingOverflow(by: items.count)
        if overflow || steps > Self.mostSteps {
            throw .limit("steps to find items", allowed: Self.mostSteps, requested: overflow ? .max : steps)
        }
    }

    /// - Parameter meta: the boxes in a `meta` box.
    mutating func count(_ meta: BoxCursor) throws(CoderError) {
        for var list in meta.all("iinf") where list.skips(4 + (list.version == 0 ? 2 : 4)) {
            for var entry in list.all("infe") {
                let width = entry.version == 2 ? 2 : 4
                if entry.skips(4), let number = entry.number(width) { try add(number) }
            }
        }
        let tile: FourCC = "dimg"
        for var list in meta.all("iref") {
            let width = list.version == 0 ? 2 : 4
            guard list.skips(4) else { continue }
            while let box = list.nextBox() {
                var entry = list.inside(box)
                guard let source = entry.number(width), let count = entry.number(2) else { continue }
                for _ in 0..<count {
                    guard let target = entry.number(width) else { break }
                    // libavif searches for both items of each pair.
                    try add(source)
                    try add(target)
                    if box.type == tile { tiles += 1 }
                }
            }
        }
        for list in meta.all("iprp") {
            for var box in list.all("ipma") { try countAssociations(&box) }
        }
    }

    private mutating func countAssociations(_ list: inout BoxCursor) throws(CoderError) {
        guard let head = list.number(4), let count = list.number(4) else { return }
        for _ in 0..<count {
            guard let number = list.number(head >> 24 == 0 ? 2 : 4), let entries = list.number(1),
                list.skips(Int(entries) * (head & 1 == 0 ? 1 : 2))
            else { return }
            try add(number)
        }
    }
}
