import CoderPluginKit
import ImageModel

/// The part of an image that a rewrite keeps, and its transform.
///
///     blocks   |0      |8      |16  |20        Only the last block across may be partial.
///     requested  3............15               kept 0 ..< 15: the left edge moves to a block edge
///     mirrored   3............15               kept 3 ..< 16: the right edge becomes the left one, so it moves
///     mirrored               15.....20         kept 15 ..< 16: there is no block edge behind 16 to begin at
struct JPEGCut {
    /// The kept part in pixels, before the transform.
    let kept: PixelRect
    let isMirrored: Bool
    let isFlipped: Bool
    let isTransposed: Bool

    /// Finds the smallest cut that contains the request, extended to block edges on two sides.
    ///
    /// - Parameter unit: the distance in pixels between edges that are block edges of every component.
    /// - Throws: `.invalidArgument` for a crop outside the image; `.refused` if nothing would remain, or if the request
    ///   requires an exact crop and the cut differs.
    init(_ request: RewriteRequest, of size: PixelSize, unit: PixelSize) throws(CoderError) {
        let asked = request.crop ?? PixelRect(size)
        guard asked.x >= 0, asked.y >= 0, !asked.isEmpty, asked.width <= size.width, asked.height <= size.height,
            asked.x <= size.width - asked.width, asked.y <= size.height - asked.height
        else {
            throw .invalidArgument(
                "the crop \(asked) is not inside the image of \(size) pixels", hint: "choose a rectangle inside")
        }
        let corner = request.transform.source(x: 0, y: 0, in: PixelSize(2, 2))
        (isMirrored, isFlipped, isTransposed) = (corner.x == 1, corner.y == 1, request.transform.swapsSides)
        let columns = Self.kept(
            asked.x..<asked.x + asked.width, of: size.width, unit: unit.width, isReversed: isMirrored)
        let rows = Self.kept(
            asked.y..<asked.y + asked.height, of: size.height, unit: unit.height, isReversed: isFlipped)
        kept = PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
        if kept.isEmpty {
            var error = Self.refusal("the transform \(request.transform) leaves nothing of \(asked)", unit)
            if request.crop == nil { error.hint = "set the orientation \(request.transform.rawValue) instead" }
            throw error
        }
        if request.isPerfect, kept != asked {
            throw Self.refusal(
                "of \(asked) the rewrite would keep \(kept): \(Self.difference(asked, kept))", unit)
        }
    }

    private static func kept(_ asked: Range<Int>, of length: Int, unit: Int, isReversed: Bool) -> Range<Int> {
        if !isReversed { return asked.lowerBound / unit * unit..<asked.upperBound }
        let whole = length / unit * unit
        let end = min((asked.upperBound + unit - 1) / unit * unit, whole)
        return min(asked.lowerBound, end)..<end
    }

    /// Describes the lost and added pixels at the edges.
    private static func difference(_ asked: PixelRect, _ kept: PixelRect) -> String {
        let inside = asked.intersection(kept)
        var parts: [String] = []
        if inside.size != asked.size {
            parts.append(
                "\(asked.width - inside.width) columns and \(asked.height - inside.height) rows would be lost")
        }
        if inside.size != kept.size {
            parts.append("\(kept.width - inside.width) columns and \(kept.height - inside.height) rows would be added")
        }
        return parts.joined(separator: ", ")
    }

    private static func refusal(_ reason: String, _ unit: PixelSize) -> CoderError {
        var error = CoderError.refused(reason)
        error.hint = "crop at multiples of \(unit) pixels, where this JPEG can be cut without loss"
        return error
    }
}
