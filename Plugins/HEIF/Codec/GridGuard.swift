internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Refuses grids whose tiles leave gaps.
///
/// libheif 1.15 puts tiles on an uninitialized canvas, so gaps between tiles show old memory. It places tiles by the
/// sizes in the boxes, but copies as much as the streams hold.
///
/// - Source: ISO/IEC 23008-12 section 6.6.2.3: tiles of one size, which cover the image.
struct GridGuard {
    let table: ItemTable

    /// - Parameters:
    ///   - rule: the bytes of the item: numbers of rows and columns, and the canvas size.
    ///   - read: the tiles that are decoded.
    func check(_ id: UInt32, rule: [UInt8], reading read: Set<UInt32>, in source: ByteSource) throws(CoderError) {
        let canvas = try DerivedCanvas.grid(rule)
        guard rule.count > 3 else { throw .corrupt("a derived image has no data") }
        let rows = Int(rule[2]) + 1
        let columns = Int(rule[3]) + 1
        let tiles = table.targets("dimg", from: id)
        // libheif also counts the tiles, and reports their number.
        guard tiles.count == rows * columns, let first = tiles.first else { return }
        let size = try table.tileSize(of: first)
        for tile in tiles where try table.tileSize(of: tile) != size {
            throw .corrupt("the tiles of a grid differ in size")
        }
        let (width, tooWide) = size.width.multipliedReportingOverflow(by: columns)
        let (height, tooHigh) = size.height.multipliedReportingOverflow(by: rows)
        guard tooWide || width >= canvas.width, tooHigh || height >= canvas.height else {
            throw .corrupt("\(rows) x \(columns) tiles of \(size) do not cover a grid of \(canvas)")
        }
        for tile in read.intersection(tiles).sorted() { try checkStream(of: tile, size, in: source) }
    }

    private func checkStream(of tile: UInt32, _ size: PixelSize, in source: ByteSource) throws(CoderError) {
        var held: [PixelSize] = []
        switch table.items[tile]?.type {
        case "hvc1":
            for case .hevc(let configuration) in table.properties(of: tile) {
                if let least = configuration.sizes.leastShown { held.append(least) }
            }
            let data = try table.data(of: tile, from: source, limit: 0)
            held += HeaderGuard.units(data).compactMap { CodedSize.hevcWindow($0) }
        case "av01":
            for case .av1(let configuration) in table.properties(of: tile) {
                if let size = configuration.coded { held.append(size) }
            }
            let data = try table.data(of: tile, from: source, limit: 0)
            if let size = CodedSize.av1(data[...]) { held.append(size) }
        default: throw .unsupported("a grid of derived tiles")
        }
        for stream in held where stream.width < size.width || stream.height < size.height {
            throw .corrupt("a tile of \(size) has a stream of \(stream)")
        }
    }
}
