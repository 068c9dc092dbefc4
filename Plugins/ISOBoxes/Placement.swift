package import ImageModel

/// The position of canvas pixels after cropping, rotation and mirroring.
///
/// - Source: ISO/IEC 23008-12 sections 6.5.10 (turn), 6.5.12 (mirror); ISO/IEC 14496-12 section 12.1.4 (crop).
package struct Placement {
    /// The size of the shown image.
    package private(set) var size: PixelSize
    /// The canvas position of the image's first pixel.
    private var origin = Step(0, 0)
    /// The steps on the canvas for one pixel to the right, and for one row down, in the image.
    private var right = Step(1, 0)
    private var down = Step(0, 1)

    package struct Step: Equatable {
        package var x, y: Int
        package init(_ x: Int, _ y: Int) { (self.x, self.y) = (x, y) }
    }

    /// Applies the transforms in the order of the file; nil for a transform that only libheif applies.
    package init?(_ properties: [ItemProperty], canvas: PixelSize) {
        size = canvas
        for property in properties {
            switch property {
            case .cleanAperture(let aperture):
                guard let rect = aperture.rect(in: size) else { return nil }
                append(Step(rect.x, rect.y), right: Step(1, 0), down: Step(0, 1))
                size = rect.size
            case .rotation(let turns): turn(turns)
            case .mirror(let axis): mirror(axis)
            default: break
            }
        }
    }

    /// - Parameters:
    ///   - part: the visible part of the canvas, which is rotated counterclockwise, then mirrored.
    ///   - mirror: 0 exchanges top and bottom, 1 left and right.
    package init(_ part: PixelRect, turns: Int, mirror: Int?) {
        size = part.size
        origin = Step(part.x, part.y)
        turn(turns)
        if let mirror { self.mirror(mirror) }
    }

    private mutating func turn(_ quarters: Int) {
        for _ in 0..<quarters {
            append(Step(size.width - 1, 0), right: Step(0, 1), down: Step(-1, 0))
            size = size.transposed
        }
    }

    private mutating func mirror(_ axis: Int) {
        if axis == 0 {
            append(Step(0, size.height - 1), right: Step(1, 0), down: Step(0, -1))
        } else {
            append(Step(size.width - 1, 0), right: Step(-1, 0), down: Step(0, 1))
        }
    }

    /// - Parameters:
    ///   - first: the position of the new image's first pixel in the image so far; `right` and `down` likewise.
    private mutating func append(_ first: Step, right newRight: Step, down newDown: Step) {
        func turned(_ step: Step) -> Step {
            Step(right.x * step.x + down.x * step.y, right.y * step.x + down.y * step.y)
        }
        let moved = turned(first)
        origin = Step(origin.x + moved.x, origin.y + moved.y)
        (right, down) = (turned(newRight), turned(newDown))
    }

    /// Whether rows of the canvas are columns of the image.
    package var isTransposed: Bool { right.x == 0 }

    /// Returns the image position of a canvas pixel; may be outside the image.
    package func image(of pixel: Step) -> Step {
        let (x, y) = (pixel.x - origin.x, pixel.y - origin.y)
        return Step(x * right.x + y * right.y, x * down.x + y * down.y)
    }

    /// The steps in the image for one pixel to the right, and for one row down, on the canvas.
    package var steps: (right: Step, down: Step) { (Step(right.x, down.x), Step(right.y, down.y)) }

    /// Returns the image position of a part of the canvas; may be outside the image.
    package func image(of rect: PixelRect) -> PixelRect {
        Self.rect(
            image(of: Step(rect.x, rect.y)), image(of: Step(rect.x + rect.width - 1, rect.y + rect.height - 1)))
    }

    /// Returns the part of the canvas that a part of the image shows.
    package func canvas(of rect: PixelRect) -> PixelRect {
        func place(_ x: Int, _ y: Int) -> Step {
            Step(origin.x + right.x * x + down.x * y, origin.y + right.y * x + down.y * y)
        }
        return Self.rect(place(rect.x, rect.y), place(rect.x + rect.width - 1, rect.y + rect.height - 1))
    }

    private static func rect(_ one: Step, _ other: Step) -> PixelRect {
        PixelRect(
            x: min(one.x, other.x), y: min(one.y, other.y), width: abs(one.x - other.x) + 1,
            height: abs(one.y - other.y) + 1)
    }
}
