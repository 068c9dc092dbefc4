public import ImageModel

/// Blends one color onto the whole picture.
///
/// A gray picture becomes RGB where the color is none; one without alpha gets it where the mode takes some away.
public struct Tint: ImageTransformer, Hashable {
    public var color: RGBAColor
    /// ``BlendMode/sourceIn`` gives the picture's shape in the color.
    public var blendMode: BlendMode

    public init(_ color: RGBAColor, blendMode: BlendMode = .sourceIn) {
        self.color = color
        self.blendMode = blendMode
    }

    /// For example `Tint(ff0000ff,sourceIn)`.
    public var key: String { "Tint(\(keyText(color)),\(blendMode.rawValue))" }

    public func outputSize(for size: PixelSize) -> PixelSize { size }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let picture = try buffer.workable("the tint")
        var format = picture.format
        if !color.isGray { format = format.withColors }
        if !blendMode.keepsOpaque(sourceIsOpaque: color.alpha == 255) { format = format.withAlpha }
        let source = WorkRow.filled(with: color, count: picture.size.width)
        return try picture.mapRows(to: format) { WorkRow.blend(&$0, source, blendMode) }
    }
}
