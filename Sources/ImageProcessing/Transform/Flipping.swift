public import ImageModel

/// Mirrors a picture; pixels of every format are moved, none is changed.
public struct Flipping: ImageTransformer, Hashable {
    /// Left becomes right.
    public var isHorizontal: Bool
    /// Top becomes bottom.
    public var isVertical: Bool

    public init(horizontal: Bool = false, vertical: Bool = false) {
        isHorizontal = horizontal
        isVertical = vertical
    }

    /// `Flipping(h)`, `Flipping(v)`, `Flipping(hv)` or `Flipping()`.
    public var key: String { "Flipping(\(isHorizontal ? "h" : "")\(isVertical ? "v" : ""))" }

    public func outputSize(for size: PixelSize) -> PixelSize { size }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let orientation: Orientation =
            switch (isHorizontal, isVertical) {
            case (false, false): .up
            case (true, false): .upMirrored
            case (false, true): .downMirrored
            case (true, true): .down
            }
        return try PixelConverter.upright(buffer, orientation)
    }
}
