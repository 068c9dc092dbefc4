package import CoderPluginKit
package import ImageModel

/// An image that the plugin composes itself, tile by tile, instead of libheif.
///
/// - Source: ISO/IEC 23008-12 section 6.6.2.3.
package struct TilePlan {
    package let tiles: [UInt32]
    package let columns: Int
    package let canvas: PixelSize
    package let tile: PixelSize
    package let placement: Placement

    /// A tile that a region touches.
    package struct Place {
        /// The part of the tile, in pixels of the tile.
        package let part: PixelRect
        /// The position of the part's first pixel in the region.
        package let target: Placement.Step

        package init(part: PixelRect, target: Placement.Step) { (self.part, self.target) = (part, target) }
    }

    /// - Parameter size: the size of the image after its transforms.
    /// - Returns: nil if libheif has to compose or refuse the image.
    package init?(grid id: UInt32, size: PixelSize, in derivations: Derivations, from source: ByteSource) {
        let table = derivations.table
        guard table.items[id]?.type == "grid", let rule = try? table.data(of: id, from: source, limit: 64),
            rule.count >= 8, let canvas = try? DerivedCanvas.grid(rule), !canvas.isEmpty,
            let placement = Placement(table.properties(of: id), canvas: canvas), placement.size == size
        else { return nil }
        let (rows, columns) = (Int(rule[2]) + 1, Int(rule[3]) + 1)
        let tiles = table.targets("dimg", from: id)
        guard tiles.count == rows * columns, let tile = try? table.tileSize(of: tiles[0]), !tile.isEmpty
        else { return nil }
        let (width, tooWide) = tile.width.multipliedReportingOverflow(by: columns)
        let (height, tooHigh) = tile.height.multipliedReportingOverflow(by: rows)
        // Gaps are refused by the check of the full grid.
        guard !tooWide, !tooHigh, width >= canvas.width, height >= canvas.height else { return nil }
        for id in Set(tiles) {
            guard table.items[id]?.isDerived == false, !derivations.hasAlpha(id) else { return nil }
        }
        (self.tiles, self.columns, self.canvas, self.tile, self.placement) = (tiles, columns, canvas, tile, placement)
    }

    /// Plans an image of one stream as a single tile.
    package init?(single id: UInt32, size: PixelSize, in derivations: Derivations) {
        let table = derivations.table
        guard table.items[id]?.isDerived == false else { return nil }
        let properties = table.properties(of: id)
        var stored: PixelSize?
        for case .extent(let size) in properties { stored = size }
        guard let stored, !stored.isEmpty, let placement = Placement(properties, canvas: stored), placement.size == size
        else { return nil }
        (tiles, columns, canvas, tile, self.placement) = ([id], 1, stored, stored, placement)
    }

    /// Returns the tiles that a region of the image touches, each item once, and their positions.
    package func places(in region: PixelRect) -> [(tile: UInt32, places: [Place])] {
        let wanted = placement.canvas(of: region).intersection(PixelRect(canvas))
        guard !wanted.isEmpty else { return [] }
        var found: [(tile: UInt32, places: [Place])] = []
        var numbers: [UInt32: Int] = [:]
        for row in wanted.y / tile.height...(wanted.y + wanted.height - 1) / tile.height {
            for column in wanted.x / tile.width...(wanted.x + wanted.width - 1) / tile.width {
                let id = tiles[row * columns + column]
                let (left, top) = (column * tile.width, row * tile.height)
                let touched = wanted.intersection(
                    PixelRect(x: left, y: top, width: tile.width, height: tile.height))
                let shown = placement.image(of: Placement.Step(touched.x, touched.y))
                let place = Place(
                    part: PixelRect(
                        x: touched.x - left, y: touched.y - top, width: touched.width, height: touched.height),
                    target: Placement.Step(shown.x - region.x, shown.y - region.y))
                if let number = numbers[id] {
                    found[number].places.append(place)
                } else {
                    numbers[id] = found.count
                    found.append((id, [place]))
                }
            }
        }
        return found
    }
}
