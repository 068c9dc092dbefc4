import TestSupport

/// Boxes of the ISO base media format, as bytes.
enum Boxes {
    static func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
        u32(8 + payload.count) + Array(type.utf8) + payload
    }

    static func full(_ type: String, version: UInt8 = 0, flags: Int = 0, _ payload: [UInt8]) -> [UInt8] {
        box(type, [version] + number(UInt64(flags), 3) + payload)
    }

    static func u16(_ value: Int) -> [UInt8] { number(UInt64(value), 2) }
    static func u32(_ value: Int) -> [UInt8] { number(UInt64(value), 4) }

    /// Big-endian, cut to `count` bytes.
    static func number(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) : 0 }
    }

    static func ispe(_ width: Int, _ height: Int) -> [UInt8] { full("ispe", u32(width) + u32(height)) }
}

/// Builds HEIF and AVIF files box by box. The defaults are a valid gray AVIF image of 64 x 48 pixels.
struct HandmadeHEIF {
    struct Item {
        var id = 1
        var type = "av01"
        /// The rest of the `infe` box, for `mime`.
        var content: [UInt8] = []
        var method = 0
        var base: UInt64 = 0
        var extents: [(offset: UInt64, length: UInt64)]
        /// Whether `iloc` lists the item.
        var isPlaced = true
        /// Property numbers, counted from 1.
        var properties: [UInt8] = [1, 2, 3]
    }

    /// The stream in `Fixtures/avif/mini-gray.avif`.
    static let stream = Array((readFile(Repository.fixture("avif/mini-gray.avif")) ?? []).dropFirst(38))
    static let configuration = Boxes.box("av1C", [0x81, 0, 0x1C, 0])
    /// The position of `data` in the file.
    static let dataPlace = 32
    static let image = Item(extents: [(UInt64(dataPlace), UInt64(stream.count))])

    var brand = "avif"
    var data = stream
    var items = [image]
    var properties = [configuration, Boxes.ispe(64, 48), Boxes.full("pixi", [1, 8])]
    var references: [(type: String, from: Int, to: [Int])] = []
    var idat: [UInt8] = []
    /// Sizes in bytes in `iloc`.
    var sizes = (offset: 8, length: 8, base: 8, index: 0)
    var locationVersion = 1
    /// Boxes behind all others in `meta`.
    var moreMeta: [UInt8] = []
    /// Boxes at the end of the file.
    var tail: [UInt8] = []

    var bytes: [UInt8] {
        Boxes.box("ftyp", Array((brand + "\0\0\0\0" + brand + "mif1").utf8)) + Boxes.box("mdat", data) + meta + tail
    }

    /// The same file with the lists in front of the data.
    var bytesListsFirst: [UInt8] {
        var file = self
        for index in items.indices where items[index].method == 0 {
            file.items[index].base += UInt64(meta.count)
        }
        return Boxes.box("ftyp", Array((brand + "\0\0\0\0" + brand + "mif1").utf8)) + file.meta
            + Boxes.box("mdat", data) + tail
    }

    var meta: [UInt8] {
        Boxes.full(
            "meta",
            Boxes.full("hdlr", Boxes.u32(0) + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
                + Boxes.full("pitm", Boxes.u16(1)) + locations + types
                + (references.isEmpty ? [] : Boxes.full("iref", references.flatMap(reference)))
                + Boxes.box("iprp", Boxes.box("ipco", properties.flatMap { $0 }) + associations)
                + (idat.isEmpty ? [] : Boxes.box("idat", idat)) + moreMeta)
    }

    private var locations: [UInt8] {
        let head = [UInt8(sizes.offset << 4 | sizes.length), UInt8(sizes.base << 4 | sizes.index)]
        let placed = items.filter(\.isPlaced)
        let number = locationVersion < 2 ? Boxes.u16 : Boxes.u32
        let entries = placed.map { item in
            number(item.id) + (locationVersion > 0 ? Boxes.u16(item.method) : []) + Boxes.u16(0)
                + Boxes.number(item.base, sizes.base) + Boxes.u16(item.extents.count)
                + (sizes == (0, 0, sizes.base, 0) ? [] : item.extents).flatMap { extent in
                    [UInt8](repeating: 0, count: sizes.index) + Boxes.number(extent.offset, sizes.offset)
                        + Boxes.number(extent.length, sizes.length)
                }
        }
        return Boxes.full(
            "iloc", version: UInt8(locationVersion), head + number(placed.count) + entries.flatMap { $0 })
    }

    private var types: [UInt8] {
        let entries = items.map { item in
            Boxes.full(
                "infe", version: 2, Boxes.u16(item.id) + Boxes.u16(0) + Array(item.type.utf8) + [0] + item.content)
        }
        return Boxes.full("iinf", Boxes.u16(items.count) + entries.flatMap { $0 })
    }

    private func reference(_ type: String, from: Int, to: [Int]) -> [UInt8] {
        Boxes.box(type, Boxes.u16(from) + Boxes.u16(to.count) + to.flatMap(Boxes.u16))
    }

    private var associations: [UInt8] {
        let entries = items.filter { !$0.properties.isEmpty }.map {
            Boxes.u16($0.id) + [UInt8($0.properties.count)] + $0.properties
        }
        return Boxes.full("ipma", Boxes.u32(entries.count) + entries.flatMap { $0 })
    }
}

extension HandmadeHEIF {
    /// Adds a metadata item.
    static func exif(_ extents: [(offset: UInt64, length: UInt64)], method: Int = 0) -> HandmadeHEIF {
        var file = HandmadeHEIF()
        file.items.append(Item(id: 2, type: "Exif", method: method, extents: extents, properties: []))
        file.references = [("cdsc", 2, [1])]
        return file
    }

    /// Makes a grid that shows the same stream in every tile.
    ///
    /// - Parameter tile: the size that the boxes declare for each tile.
    static func grid(
        rows: Int, columns: Int, canvas: (width: Int, height: Int), tile: (width: Int, height: Int) = (64, 48)
    ) -> HandmadeHEIF {
        var file = HandmadeHEIF()
        let rule = [0, 1, UInt8(rows - 1), UInt8(columns - 1)] + Boxes.u32(canvas.width) + Boxes.u32(canvas.height)
        file.idat = rule
        file.properties[1] = Boxes.ispe(tile.width, tile.height)
        file.properties.append(Boxes.ispe(canvas.width, canvas.height))
        let tiles = (2..<2 + rows * columns).map { Item(id: $0, extents: image.extents) }
        file.items =
            [Item(type: "grid", method: 1, extents: [(0, UInt64(rule.count))], properties: [4, 3])] + tiles
        file.references = [("dimg", 1, tiles.map(\.id))]
        return file
    }

    /// A sequence of one track; `table` is the content of its `stbl` box.
    static func sequence(_ table: [UInt8], moreTrack: [UInt8] = []) -> HandmadeHEIF {
        var file = HandmadeHEIF()
        file.brand = "avis"
        let sizes = Boxes.u16(64) + Boxes.u16(0) + Boxes.u16(48) + Boxes.u16(0)
        let header = Boxes.full(
            "tkhd",
            Boxes.u32(0) + Boxes.u32(0) + Boxes.u32(1) + Boxes.u32(0) + Boxes.u32(100)
                + [UInt8](repeating: 0, count: 52) + sizes)
        let media = Boxes.full("mdhd", Boxes.u32(0) + Boxes.u32(0) + Boxes.u32(1000) + Boxes.u32(100) + Boxes.u32(0))
        file.tail = Boxes.box(
            "moov",
            Boxes.box(
                "trak",
                header + Boxes.box("mdia", media + Boxes.box("minf", Boxes.box("stbl", table))) + moreTrack))
        return file
    }

    /// The boxes of a sample table: `chunks` positions, each with `perChunk` samples.
    static func samples(
        chunks: [UInt32] = [UInt32(dataPlace)], perChunk: Int = 1, runs: [UInt8]? = nil,
        sizes: (each: Int, count: Int, list: [Int]),
        descriptions: [UInt8] = description
    ) -> [UInt8] {
        Boxes.full("stsd", descriptions)
            + Boxes.full("stts", Boxes.u32(1) + Boxes.u32(chunks.count * perChunk) + Boxes.u32(100))
            + Boxes.full("stsc", runs ?? Boxes.u32(1) + Boxes.u32(1) + Boxes.u32(perChunk) + Boxes.u32(1))
            + Boxes.full("stsz", Boxes.u32(sizes.each) + Boxes.u32(sizes.count) + sizes.list.flatMap(Boxes.u32))
            + Boxes.full("stco", Boxes.u32(chunks.count) + chunks.flatMap { Boxes.u32(Int($0)) })
    }

    /// One sample entry of AV1.
    static let description = Boxes.u32(1) + Boxes.box("av01", [UInt8](repeating: 0, count: 78) + configuration)
}
