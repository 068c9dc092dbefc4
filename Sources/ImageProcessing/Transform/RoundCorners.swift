public import ImageModel

/// Rounds the corners of an image, and draws a border.
///
/// The image gets an alpha channel at its bit depth. CMYK becomes RGB, as does gray with a colored border. A radius
/// above half of the shorter side is limited to that half.
///
/// Quirk of the library that this follows: the image is first inset by the border's width, and the border's center line
/// runs half a pixel further inside. A border of one pixel covers the second row and column of pixels.
public struct RoundCorners: ImageTransformer, Hashable {
    /// The radius of the corners.
    ///
    /// - Units: pixels
    package var radius: Double
    /// The corners to round.
    package var corners: RectCorners
    /// The width of the border; 0 for no border.
    ///
    /// - Units: pixels
    package var borderWidth: Double
    /// The color of the border.
    package var borderColor: RGBAColor

    /// Creates a transformer that rounds corners, without a border by default.
    public init(
        radius: Double, corners: RectCorners = .all, borderWidth: Double = 0,
        borderColor: RGBAColor = RGBAColor(red: 0, green: 0, blue: 0)
    ) {
        self.radius = radius
        self.corners = corners
        self.borderWidth = borderWidth
        self.borderColor = borderColor
    }

    /// The key, for example `RoundCorners(50,all,1,000000ff)` or `RoundCorners(50,tl+br,0,000000ff)`.
    public var key: String {
        "RoundCorners(\(keyText(radius)),\(corners.keyText),\(keyText(borderWidth)),\(keyText(borderColor)))"
    }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize { isValid(for: size) ? size : .zero }

    private static let range = 0.0...1e9

    private func isValid(for size: PixelSize) -> Bool {
        Self.range.contains(radius) && Self.range.contains(borderWidth)
            && (borderWidth == 0 || borderWidth < Double(min(size.width, size.height)) / 2)
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try check(radius, "a radius", in: Self.range)
        try check(borderWidth, "a border width", in: Self.range)
        guard isValid(for: buffer.size) else {
            throw .invalidArgument(
                "a border of \(keyText(borderWidth)) pixels leaves nothing of an image of \(buffer.size) pixels")
        }
        let image = try buffer.workable("round corners")
        var format = image.format.withAlpha
        if borderWidth > 0 && !borderColor.isGray { format = format.withColors }
        let context = try DrawingContext(pixels: image.size)
        let whole = PointRect(PointSize(Double(image.size.width), Double(image.size.height)))
        try context.clip(to: whole.inset(by: borderWidth), radius: radius, corners: corners)
        try context.draw(image, x: 0, y: 0)
        if borderWidth > 0 {
            context.resetClip()
            try context.stroke(
                whole.inset(by: borderWidth.rounded(.down) + 0.5), radius: max(0, radius - 0.5), corners: corners,
                lineWidth: borderWidth, with: borderColor)
        }
        return try context.image(format)
    }
}
