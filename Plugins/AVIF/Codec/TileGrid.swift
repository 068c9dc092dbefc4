internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// A grid whose tiles are decoded one by one, not together by libavif.
///
/// - Source: ISO/IEC 23008-12 section 6.6.2.3; ISO/IEC 23000-22 (MIAF) section 7.3.11.4.2.
struct TileGrid {
    let boxes: ItemBoxes
    let colors: TilePlan
    let alpha: TilePlan?

    /// A tile to decode.
    struct Tile {
        let id: UInt32
        let isAlpha: Bool
        /// Its position in the stored image.
        let rect: PixelRect
    }

    /// - Parameter image: libavif's facts of the same item.
    /// - Returns: nil if libavif has to decode or refuse the whole image.
    init?(_ id: UInt32, _ image: Image, in boxes: ItemBoxes, from source: ByteSource) {
        let derivations = boxes.derivations
        guard let size = try? derivations.size(id),
            let colors = TilePlan(grid: id, size: size, in: derivations, from: source),
            Self.isServed(colors, image, boxes.table), Self.isEven(colors, image)
        else { return nil }
        var alpha: TilePlan?
        if image.hasAlpha {
            // If a property appears several times, libavif and the boxes may choose different ones.
            guard derivations.alphaCount(id) == 1, let found = (try? derivations.alpha(id)) ?? nil,
                let plan = TilePlan(grid: found, size: size, in: derivations, from: source)
                    ?? TilePlan(single: found, size: size, in: derivations),
                plan.tiles.count == 1 || Self.isServed(plan, image, boxes.table), plan.canvas == image.stored
            else { return nil }
            alpha = plan
        }
        (self.boxes, self.colors, self.alpha) = (boxes, colors, alpha)
    }

    /// Whether libavif would join these tiles: one size, at least 64 x 64, each visible.
    private static func isServed(_ plan: TilePlan, _ image: Image, _ table: ItemTable) -> Bool {
        let (tile, canvas) = (plan.tile, plan.canvas)
        let rows = plan.tiles.count / plan.columns
        guard canvas == image.stored, tile.width >= 64, tile.height >= 64,
            (plan.columns - 1) * tile.width < canvas.width, (rows - 1) * tile.height < canvas.height,
            Set(plan.tiles).count == plan.tiles.count
        else { return false }
        return plan.tiles.allSatisfy { table.items[$0]?.type == "av01" && (try? table.tileSize(of: $0)) == tile }
    }

    /// Whether no color sample belongs to two tiles.
    private static func isEven(_ plan: TilePlan, _ image: Image) -> Bool {
        (!image.halvesColumns || plan.tile.width % 2 == 0 && plan.canvas.width % 2 == 0)
            && (!image.halvesRows || plan.tile.height % 2 == 0 && plan.canvas.height % 2 == 0)
    }

    /// The tiles that lie in a part of the stored image.
    func tiles(in part: PixelRect) -> [Tile] {
        var found: [Tile] = []
        for (plan, isAlpha) in [(colors, false)] + (alpha.map { [($0, true)] } ?? []) {
            for row in part.y / plan.tile.height...(part.y + part.height - 1) / plan.tile.height {
                for column in part.x / plan.tile.width...(part.x + part.width - 1) / plan.tile.width {
                    let rect = PixelRect(
                        x: column * plan.tile.width, y: row * plan.tile.height, width: plan.tile.width,
                        height: plan.tile.height)
                    found.append(Tile(id: plan.tiles[row * plan.columns + column], isAlpha: isAlpha, rect: rect))
                }
            }
        }
        return found
    }
}
