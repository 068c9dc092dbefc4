public import ImageModel

/// Blends one color onto the whole image.
///
/// A gray image becomes RGB if the color is not gray. An image without alpha gets an alpha channel if the mode can make
/// pixels transparent.
public struct Tint: ImageTransformer, Hashable {
    /// The color.
    package var color: RGBAColor
    /// The blend mode; ``BlendMode/sourceIn`` fills the image's shape with the color.
    package var blendMode: BlendMode

    /// Creates a tint that fills the shape of the image with a color.
    public init(_ color: RGBAColor) { self.init(color, blendMode: .sourceIn) }

    /// Creates a tint.
    package init(_ color: RGBAColor, blendMode: BlendMode) {
        self.color = color
        self.blendMode = blendMode
    }

    /// The key, for example `Tint(ff0000ff,sourceIn)`.
    public var key: String { "Tint(\(keyText(color)),\(blendMode.rawValue))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize { size }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let image = try buffer.workable("the tint")
        var format = image.format
        if !color.isGray { format = format.withColors }
        if !blendMode.keepsOpaque(sourceIsOpaque: color.alpha == 255) { format = format.withAlpha }
        let source = WorkRow.filled(with: color, count: image.size.width)
        return try image.mapRows(to: format) { WorkRow.blend(&$0, source, blendMode) }
    }
}
