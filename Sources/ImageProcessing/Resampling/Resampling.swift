public import ImageModel

/// What one target pixel is made of.
public enum ResamplingFilter: String, Sendable, Hashable, CaseIterable {
    /// The one source pixel under its centre.
    case nearest
    /// The mean of the area that it covers.
    case box
    /// A triangle, one pixel to each side.
    case bilinear
    /// Catmull-Rom, two pixels to each side.
    case bicubic
    /// A windowed sinc, three pixels to each side.
    case lanczos3

    /// How far it reaches from the centre, in pixels of the coarser grid.
    var radius: Double {
        switch self {
        case .nearest, .box: 0.5
        case .bilinear: 1
        case .bicubic: 2
        case .lanczos3: 3
        }
    }
}

/// How a picture changes its size.
public struct Resampling: Sendable, Hashable {
    public var filter: ResamplingFilter
    /// Mixes light instead of the stored values, which are taken for sRGB: slower, and thin bright lines stay bright.
    ///
    /// Inks are mixed as they are.
    public var linearLight: Bool

    public init(filter: ResamplingFilter = .lanczos3, linearLight: Bool = false) {
        self.filter = filter
        self.linearLight = linearLight
    }
}

/// A part of a picture whose edges may lie within pixels.
public struct SourceWindow: Sendable, Hashable, CustomStringConvertible {
    public var x: Double
    public var y: Double
    public var width: Double
    public var height: Double

    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    public init(_ rect: PixelRect) {
        self.init(x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height))
    }

    public var description: String { "\(width)x\(height)+\(x)+\(y)" }
}
