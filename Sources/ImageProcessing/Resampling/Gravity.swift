package import ImageModel

/// The edge or corner at which something is placed.
public enum Gravity: String, Sendable, Hashable, CaseIterable {
    /// The middle.
    case center
    /// The middle of the top edge.
    case north
    /// The top right corner.
    case northeast
    /// The middle of the right edge.
    case east
    /// The bottom right corner.
    case southeast
    /// The middle of the bottom edge.
    case south
    /// The bottom left corner.
    case southwest
    /// The middle of the left edge.
    case west
    /// The top left corner.
    case northwest

    /// Returns the rectangle of a size within a larger one.
    ///
    /// - Parameter margin: the distance in pixels from the edges; ignored in a direction that is centered.
    package func place(_ size: PixelSize, in whole: PixelSize, margin: Int = 0) -> PixelRect {
        func start(_ side: Int, _ whole: Int, atStart: [Gravity], atEnd: [Gravity]) -> Int {
            if atStart.contains(self) { return margin }
            return atEnd.contains(self) ? whole - side - margin : (whole - side) / 2
        }
        return PixelRect(
            x: start(
                size.width, whole.width, atStart: [.northwest, .west, .southwest],
                atEnd: [.northeast, .east, .southeast]),
            y: start(
                size.height, whole.height, atStart: [.northwest, .north, .northeast],
                atEnd: [.southwest, .south, .southeast]),
            width: size.width, height: size.height)
    }
}
