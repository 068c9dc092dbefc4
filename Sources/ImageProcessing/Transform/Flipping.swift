public import ImageModel

/// Mirrors an image by moving pixels, in every format.
public struct Flipping: RowTransformer, Hashable {
    /// Whether left and right are exchanged.
    package var isHorizontal: Bool
    /// Whether top and bottom are exchanged.
    package var isVertical: Bool

    /// Creates a transformer that mirrors in the given directions.
    public init(horizontal: Bool = false, vertical: Bool = false) {
        isHorizontal = horizontal
        isVertical = vertical
    }

    /// The key: `Flipping(h)`, `Flipping(v)`, `Flipping(hv)` or `Flipping()`.
    public var key: String { "Flipping(\(isHorizontal ? "h" : "")\(isVertical ? "v" : ""))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize { size }

    /// Returns the transformed image.
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

    /// Returns the transformed rows; nil if top and bottom are exchanged.
    package func rows(of source: any RowSource) throws(CoderError) -> (any RowSource)? {
        if isVertical { return nil }
        return isHorizontal ? try source.mirrored() : source
    }
}
