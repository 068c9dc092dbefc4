public import ImageModel

/// Blends one color onto the whole image.
///
/// A gray image becomes RGB if the color is not gray. An image without alpha gets an alpha channel if the mode can make
/// pixels transparent.
public struct Tint: RowTransformer, Hashable {
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
        try tinted(BufferRows(buffer)).collected()
    }

    /// Returns the transformed rows.
    package func rows(of source: any RowSource) throws(CoderError) -> (any RowSource)? { try tinted(source) }

    private func tinted(_ source: any RowSource) throws(CoderError) -> any RowSource {
        let color = WorkRow.filled(with: color, count: source.size.width)
        let (addsColors, addsAlpha) = (
            !self.color.isGray, !blendMode.keepsOpaque(sourceIsOpaque: self.color.alpha == 255)
        )
        return try source.mappedWork("the tint") { format in
            let colored = addsColors ? format.withColors : format
            return addsAlpha ? colored.withAlpha : colored
        } _: { [blendMode] in
            WorkRow.blend(&$0, color, blendMode)
        }
    }
}
