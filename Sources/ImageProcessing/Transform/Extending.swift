public import ImageModel

/// Extends the canvas of an image with one color.
public struct Extending: ImageTransformer, Hashable {
    private enum Amount: Hashable {
        case border(Int)
        case size(PixelSize, Gravity)
    }

    private let amount: Amount
    private let color: RGBAColor

    /// Creates a transformer that adds a border.
    ///
    /// - Parameters:
    ///   - border: the width of the border in pixels, 0 … 16,777,216.
    ///   - color: the color of the new pixels; by default they are transparent, and the image gets alpha.
    public init(by border: Int, color: RGBAColor? = nil) {
        amount = .border(border)
        self.color = color ?? .clear
    }

    /// Creates a transformer that extends the canvas to a size; a side that is longer stays as it is.
    ///
    /// - Parameters:
    ///   - size: 0 keeps a side.
    ///   - gravity: the position of the image on the canvas.
    ///   - color: the color of the new pixels; by default they are transparent, and the image gets alpha.
    public init(to size: PixelSize, gravity: Gravity = .center, color: RGBAColor? = nil) {
        amount = .size(size, gravity)
        self.color = color ?? .clear
    }

    /// The key, for example `Extending(20,ffffffff)` or `Extending(800x600,center,00000000)`.
    public var key: String {
        switch amount {
        case .border(let border): "Extending(\(border),\(keyText(color)))"
        case .size(let size, let gravity): "Extending(\(size),\(gravity.rawValue),\(keyText(color)))"
        }
    }

    private static let sides = 0...(1 << 24)

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        switch amount {
        case .border(let border):
            Self.sides.contains(border) ? PixelSize(size.width + 2 * border, size.height + 2 * border) : .zero
        case .size(let canvas, _):
            Self.sides.contains(canvas.width) && Self.sides.contains(canvas.height)
                ? PixelSize(max(size.width, canvas.width), max(size.height, canvas.height)) : .zero
        }
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let place: PixelRect
        let canvas = outputSize(for: buffer.size)
        switch amount {
        case .border(let border):
            try check(Double(border), "a border", in: 0...Double(Self.sides.upperBound))
            place = PixelRect(x: border, y: border, width: buffer.size.width, height: buffer.size.height)
        case .size(let size, let gravity):
            try check(Double(size.width), "a width", in: 0...Double(Self.sides.upperBound))
            try check(Double(size.height), "a height", in: 0...Double(Self.sides.upperBound))
            place = gravity.place(buffer.size, in: canvas)
        }
        if canvas == buffer.size { return buffer }
        let image = try buffer.workable("the extension")
        var format = color.alpha == 255 ? image.format : image.format.withAlpha
        if !color.isGray { format = format.withColors }
        return try PixelConverter.placed(
            try PixelConverter.convert(image, to: format), in: canvas, at: place, on: color)
    }
}
