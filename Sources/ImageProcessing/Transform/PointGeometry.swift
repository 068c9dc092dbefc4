/// A width and a height in points, which may be fractions of pixels.
package struct PointSize: Sendable, Hashable {
    /// The sides in points.
    package var width, height: Double

    /// Creates a size in points.
    package init(_ width: Double, _ height: Double) {
        self.width = width
        self.height = height
    }
}

/// A rectangle in points; `x` grows to the right, `y` downwards.
package struct PointRect: Sendable, Hashable {
    /// The corner and the sides in points.
    package var x, y, width, height: Double

    /// Creates a rectangle in points.
    package init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Creates a rectangle at the origin.
    package init(_ size: PointSize) { self.init(x: 0, y: 0, width: size.width, height: size.height) }

    /// Returns the rectangle with every edge moved inwards.
    package func inset(by distance: Double) -> PointRect {
        PointRect(x: x + distance, y: y + distance, width: width - 2 * distance, height: height - 2 * distance)
    }
}

/// The corners of a rectangle.
public struct RectCorners: OptionSet, Sendable, Hashable {
    /// The bits of the corners.
    public let rawValue: UInt8

    /// Creates corners from their bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The top left corner.
    public static let topLeft = RectCorners(rawValue: 1)
    /// The top right corner.
    public static let topRight = RectCorners(rawValue: 2)
    /// The bottom left corner.
    public static let bottomLeft = RectCorners(rawValue: 4)
    /// The bottom right corner.
    public static let bottomRight = RectCorners(rawValue: 8)
    /// All four corners.
    public static let all: RectCorners = [.topLeft, .topRight, .bottomLeft, .bottomRight]

    /// The corners in a key: `all`, `none`, or the initials joined by "+".
    var keyText: String {
        if contains(.all) { return "all" }
        var text = ""
        for (corner, name) in [
            (RectCorners.topLeft, "tl"), (.topRight, "tr"), (.bottomLeft, "bl"), (.bottomRight, "br"),
        ] where contains(corner) {
            text += (text.isEmpty ? "" : "+") + name
        }
        return text.isEmpty ? "none" : text
    }
}
