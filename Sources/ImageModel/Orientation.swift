/// The transform that shows an image upright, as Exif numbers it.
///
/// - Source: CIPA DC-008 (Exif), tag 0x0112.
public enum Orientation: Int, Sendable, Hashable, CaseIterable {
    /// The stored image is upright.
    case up = 1
    /// Mirror the stored image horizontally.
    case upMirrored = 2
    /// Rotate by 180 degrees.
    case down = 3
    /// Mirror vertically.
    case downMirrored = 4
    /// Mirror horizontally, then rotate 90 degrees counterclockwise.
    case leftMirrored = 5
    /// Rotate 90 degrees clockwise.
    case right = 6
    /// Mirror horizontally, then rotate 90 degrees clockwise.
    case rightMirrored = 7
    /// Rotate 90 degrees counterclockwise.
    case left = 8

    /// Whether applying the transform exchanges width and height.
    @inlinable package var swapsSides: Bool { rawValue >= 5 }

    /// Returns the size of an image after the transform.
    package func applied(to size: PixelSize) -> PixelSize {
        swapsSides ? size.transposed : size
    }

    /// Returns the position, in a stored image of `size`, of the pixel shown at (x, y) in the upright image.
    package func source(x: Int, y: Int, in size: PixelSize) -> (x: Int, y: Int) {
        let right = size.width - 1
        let bottom = size.height - 1
        return switch self {
        case .up: (x, y)
        case .upMirrored: (right - x, y)
        case .down: (right - x, bottom - y)
        case .downMirrored: (x, bottom - y)
        case .leftMirrored: (y, x)
        case .right: (y, bottom - x)
        case .rightMirrored: (right - y, bottom - x)
        case .left: (right - y, x)
        }
    }
}
