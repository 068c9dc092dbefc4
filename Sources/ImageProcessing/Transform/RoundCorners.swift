public import ImageModel

/// Cuts corners round, and draws a border.
///
/// The picture gets an alpha channel at its bit depth; ink becomes RGB, and so does gray with a border that is none.
/// A radius of more than half the shorter side is as much as that.
///
/// Quirk: as in the library this follows, the picture is cut back by the border's width first, and the border's middle
/// runs half a pixel further in: a border of one pixel stands on the second row and column of pixels.
public struct RoundCorners: ImageTransformer, Hashable {
    /// - Units: pixels
    public var radius: Double
    public var corners: RectCorners
    /// - Units: pixels
    public var borderWidth: Double
    public var borderColor: RGBAColor

    public init(
        radius: Double, corners: RectCorners = .all, borderWidth: Double = 0,
        borderColor: RGBAColor = RGBAColor(red: 0, green: 0, blue: 0)
    ) {
        self.radius = radius
        self.corners = corners
        self.borderWidth = borderWidth
        self.borderColor = borderColor
    }

    /// For example `RoundCorners(50,all,1,000000ff)` or `RoundCorners(50,tl+br,0,000000ff)`.
    public var key: String {
        "RoundCorners(\(keyText(radius)),\(corners.keyText),\(keyText(borderWidth)),\(keyText(borderColor)))"
    }

    public func outputSize(for size: PixelSize) -> PixelSize { isValid(for: size) ? size : .zero }

    private static let range = 0.0...1e9

    private func isValid(for size: PixelSize) -> Bool {
        Self.range.contains(radius) && Self.range.contains(borderWidth)
            && (borderWidth == 0 || borderWidth < Double(min(size.width, size.height)) / 2)
    }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try check(radius, "a radius", in: Self.range)
        try check(borderWidth, "a border width", in: Self.range)
        guard isValid(for: buffer.size) else {
            throw .invalidArgument(
                "a border of \(keyText(borderWidth)) pixels leaves nothing of a picture of \(buffer.size) pixels")
        }
        let picture = try buffer.workable("round corners")
        var format = picture.format.withAlpha
        if borderWidth > 0 && !borderColor.isGray { format = format.withColors }
        let context = try DrawingContext(pixels: picture.size)
        let whole = PointRect(PointSize(Double(picture.size.width), Double(picture.size.height)))
        try context.clip(to: whole.inset(by: borderWidth), radius: radius, corners: corners)
        try context.draw(picture, x: 0, y: 0)
        if borderWidth > 0 {
            context.resetClip()
            try context.stroke(
                whole.inset(by: borderWidth.rounded(.down) + 0.5), radius: max(0, radius - 0.5), corners: corners,
                lineWidth: borderWidth, with: borderColor)
        }
        return try context.image(format)
    }
}
