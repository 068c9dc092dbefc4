/// A width and a height in points, which may be parts of pixels.
public struct PointSize: Sendable, Hashable {
    public var width, height: Double

    public init(_ width: Double, _ height: Double) {
        self.width = width
        self.height = height
    }
}

/// A rectangle in points; `x` grows to the right, `y` downwards.
public struct PointRect: Sendable, Hashable {
    public var x, y, width, height: Double

    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    public init(_ size: PointSize) { self.init(x: 0, y: 0, width: size.width, height: size.height) }

    /// The rectangle with every edge moved inwards.
    public func inset(by distance: Double) -> PointRect {
        PointRect(x: x + distance, y: y + distance, width: width - 2 * distance, height: height - 2 * distance)
    }
}

/// Corners of a rectangle.
public struct RectCorners: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let topLeft = RectCorners(rawValue: 1)
    public static let topRight = RectCorners(rawValue: 2)
    public static let bottomLeft = RectCorners(rawValue: 4)
    public static let bottomRight = RectCorners(rawValue: 8)
    public static let all: RectCorners = [.topLeft, .topRight, .bottomLeft, .bottomRight]

    /// `all`, `none`, or the initials joined by "+".
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
