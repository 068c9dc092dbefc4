package import ImageModel

/// The weighting of source pixels in a target pixel.
package enum ResamplingFilter: String, Sendable, Hashable, CaseIterable {
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
package struct Resampling: Sendable, Hashable {
    /// The filter.
    package var filter: ResamplingFilter
    /// Whether light is mixed instead of stored values, which are taken as sRGB. Slower, but thin bright lines stay
    /// bright.
    ///
    /// CMYK is mixed by stored values.
    package var linearLight: Bool

    /// Creates a method, by default with the Lanczos filter.
    package init(filter: ResamplingFilter = .lanczos3, linearLight: Bool = false) {
        self.filter = filter
        self.linearLight = linearLight
    }
}

/// A part of an image whose edges may lie within pixels.
package struct SourceWindow: Sendable, Hashable, CustomStringConvertible {
    /// The left edge.
    package var x: Double
    /// The top edge.
    package var y: Double
    /// The width in pixels.
    package var width: Double
    /// The height in pixels.
    package var height: Double

    /// Creates a window.
    package init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Creates a window on whole pixels.
    package init(_ rect: PixelRect) {
        self.init(x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height))
    }

    /// The value as text.
    package var description: String { "\(width)x\(height)+\(x)+\(y)" }
}
