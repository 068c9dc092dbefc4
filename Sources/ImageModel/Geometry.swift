/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    public var width: Int
    public var height: Int

    public init(_ width: Int, _ height: Int) {
        self.width = width
        self.height = height
    }

    public static let zero = PixelSize(0, 0)

    /// Whether one side is zero or negative.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The number of pixels; nil when it does not fit an `Int`.
    public var area: Int? {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? nil : product
    }

    /// Width and height exchanged.
    public var transposed: PixelSize { PixelSize(height, width) }

    public var description: String { "\(width)x\(height)" }
}

/// A rectangle of the canvas; `x` grows to the right, `y` downwards.
public struct PixelRect: Sendable, Hashable, CustomStringConvertible {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The rectangle of a whole canvas.
    public init(_ size: PixelSize) {
        self.init(x: 0, y: 0, width: size.width, height: size.height)
    }

    public var size: PixelSize { PixelSize(width, height) }
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The first column right of the rectangle.
    private var right: Int { Self.sum(x, width) }
    /// The first row below the rectangle.
    private var bottom: Int { Self.sum(y, height) }

    /// A sum that ends at the largest `Int`: callers may pass any rectangle.
    private static func sum(_ start: Int, _ length: Int) -> Int {
        let (end, overflow) = start.addingReportingOverflow(length)
        return overflow ? (length < 0 ? .min : .max) : end
    }

    /// The part that both rectangles cover; empty when there is none.
    public func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        let width = min(right, other.right).subtractingReportingOverflow(left)
        let height = min(bottom, other.bottom).subtractingReportingOverflow(top)
        return PixelRect(
            x: left, y: top, width: width.overflow ? 0 : max(0, width.partialValue),
            height: height.overflow ? 0 : max(0, height.partialValue))
    }

    /// The rows that it covers.
    public var rows: Range<Int> { y..<max(y, bottom) }

    /// Whether `other` lies inside.
    public func contains(_ other: PixelRect) -> Bool {
        other.x >= x && other.y >= y && other.right <= right && other.bottom <= bottom
    }

    public var description: String { "\(width)x\(height)+\(x)+\(y)" }
}
