/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a size.
    public init(_ width: Int, _ height: Int) {
        self.width = width
        self.height = height
    }

    /// A size without pixels.
    public static let zero = PixelSize(0, 0)

    /// Whether a side is zero or negative.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The number of pixels; nil if it does not fit in an `Int`.
    public var area: Int? {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? nil : product
    }

    /// Width and height exchanged.
    @inlinable package var transposed: PixelSize { PixelSize(height, width) }

    /// The value as text.
    public var description: String { "\(width)x\(height)" }
}

/// A rectangle on the canvas; `x` grows to the right, `y` downwards.
public struct PixelRect: Sendable, Hashable, CustomStringConvertible {
    /// The left column.
    public var x: Int
    /// The top row.
    public var y: Int
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a rectangle.
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

    /// The width and the height.
    public var size: PixelSize { PixelSize(width, height) }
    /// Whether a side is zero or negative.
    @inlinable package var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The first column to the right of the rectangle.
    private var right: Int { Self.sum(x, width) }
    /// The first row below the rectangle.
    private var bottom: Int { Self.sum(y, height) }

    /// Returns a sum, saturated at the largest `Int` because callers may pass any rectangle.
    private static func sum(_ start: Int, _ length: Int) -> Int {
        let (end, overflow) = start.addingReportingOverflow(length)
        return overflow ? (length < 0 ? .min : .max) : end
    }

    /// Returns the part that both rectangles cover; empty if there is none.
    package func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        let width = min(right, other.right).subtractingReportingOverflow(left)
        let height = min(bottom, other.bottom).subtractingReportingOverflow(top)
        return PixelRect(
            x: left, y: top, width: width.overflow ? 0 : max(0, width.partialValue),
            height: height.overflow ? 0 : max(0, height.partialValue))
    }

    /// The rows that the rectangle covers.
    package var rows: Range<Int> { y..<max(y, bottom) }

    /// Returns whether `other` lies inside the rectangle.
    package func contains(_ other: PixelRect) -> Bool {
        other.x >= x && other.y >= y && other.right <= right && other.bottom <= bottom
    }

    /// The value as text.
    public var description: String { "\(width)x\(height)+\(x)+\(y)" }
}
