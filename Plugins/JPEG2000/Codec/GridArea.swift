internal import ImageModel

/// A rectangle on the reference grid, on which all components have their samples.
struct GridArea: Equatable {
    var left = 0
    var top = 0
    var right = 0
    var bottom = 0

    var width: Int { right - left }
    var height: Int { bottom - top }

    func intersection(_ other: GridArea) -> GridArea {
        GridArea(
            left: max(left, other.left), top: max(top, other.top), right: min(right, other.right),
            bottom: min(bottom, other.bottom))
    }
}

extension Codestream {
    /// The area, enlarged to whole tiles.
    func wholeTiles(_ area: GridArea) -> GridArea {
        let across = (area.left - tile.left) / tile.width
        let down = (area.top - tile.top) / tile.height
        let tiles = GridArea(
            left: tile.left + across * tile.width, top: tile.top + down * tile.height,
            right: tile.left + (area.right - tile.left).dividedUp(by: tile.width) * tile.width,
            bottom: tile.top + (area.bottom - tile.top).dividedUp(by: tile.height) * tile.height)
        return tiles.intersection(image)
    }
}

extension Int {
    /// The quotient, rounded up.
    func dividedUp(by divisor: Int) -> Int { (self + divisor - 1) / divisor }
    /// The quotient by a power of two, rounded up.
    func halvedUp(_ times: Int) -> Int { (self + (1 << times) - 1) >> times }
}

/// The canvas of pixels on the reference grid, at full or reduced size.
///
/// A pixel has the distance of the finest component. Positions are absolute: the first pixel of the canvas has the
/// position ``left``, ``top``.
struct Canvas {
    let image: GridArea
    let stepX: Int
    let stepY: Int
    /// How often both sides are halved.
    let reduction: Int

    init(_ codestream: Codestream, reduction: Int = 0) {
        image = codestream.image
        stepX = codestream.components.map(\.dx).min() ?? 1
        stepY = codestream.components.map(\.dy).min() ?? 1
        self.reduction = reduction
    }

    var left: Int { image.left.dividedUp(by: stepX).halvedUp(reduction) }
    var top: Int { row(at: image.top) }
    var size: PixelSize {
        PixelSize(image.right.dividedUp(by: stepX).halvedUp(reduction) - left, row(at: image.bottom) - top)
    }

    /// The first row of pixels at or below a position on the grid.
    func row(at y: Int) -> Int { y.dividedUp(by: stepY).halvedUp(reduction) }

    /// The smallest area from which the samples for a part of the canvas can be decoded.
    func area(for part: PixelRect, _ components: [Codestream.Component]) -> GridArea {
        let (first, last) = (left + part.x, left + part.x + part.width - 1)
        let (firstRow, lastRow) = (top + part.y, top + part.y + part.height - 1)
        var area = GridArea(left: .max, top: .max, right: 0, bottom: 0)
        for component in components {
            area.left = min(area.left, first * stepX / component.dx * (component.dx << reduction))
            area.right = max(area.right, (last * stepX / component.dx + 1) * (component.dx << reduction))
            area.top = min(area.top, firstRow * stepY / component.dy * (component.dy << reduction))
            area.bottom = max(area.bottom, (lastRow * stepY / component.dy + 1) * (component.dy << reduction))
        }
        return area.intersection(image)
    }
}
