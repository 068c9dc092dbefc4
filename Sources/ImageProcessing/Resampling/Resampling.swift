public import ImageModel

/// The weighting of source pixels in a target pixel.
public enum ResamplingFilter: String, Sendable, Hashable, CaseIterable {
    /// The source pixel under the target pixel's center.
    case nearest
    /// The mean of the covered area.
    case box
    /// A triangle that reaches one pixel to each side.
    case bilinear
    /// Catmull-Rom, which reaches two pixels to each side.
    case bicubic
    /// A windowed sinc, which reaches three pixels to each side.
    case lanczos3

    /// The distance that the filter reaches from the center, in pixels of the coarser grid.
    var radius: Double {
        switch self {
        case .nearest, .box: 0.5
        case .bilinear: 1
        case .bicubic: 2
        case .lanczos3: 3
        }
    }
}

/// The method for changing an image's size.
public struct Resampling: Sendable, Hashable {
    /// The filter.
    public var filter: ResamplingFilter
    /// Whether light is mixed instead of stored values, which are taken as sRGB. Slower, but thin bright lines stay
    /// bright.
    ///
    /// CMYK is mixed by stored values.
    public var linearLight: Bool

    /// Creates a method, by default with the Lanczos filter.
    public init(filter: ResamplingFilter = .lanczos3, linearLight: Bool = false) {
        self.filter = filter
        self.linearLight = linearLight
    }
}

/// A part of an image whose edges may lie within pixels.
public struct SourceWindow: Sendable, Hashable, CustomStringConvertible {
    /// The left edge.
    public var x: Double
    /// The top edge.
    public var y: Double
    /// The width in pixels.
    public var width: Double
    /// The height in pixels.
    public var height: Double

    /// Creates a window.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Creates a window on whole pixels.
    public init(_ rect: PixelRect) {
        self.init(x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height))
    }

    /// The value as text.
    public var description: String { "\(width)x\(height)+\(x)+\(y)" }
}
