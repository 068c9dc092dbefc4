public import ImageModel

/// Resizes to a size, also to a larger one.
public struct Resizing: ImageTransformer, Hashable {
    /// The size of the result, or of the box for fits that keep the whole image without bars.
    package var size: PixelSize
    /// The way the image is fitted. `.contain` adds transparent bars, and alpha if there are any.
    package var fit: Fit

    /// Creates a transformer that resizes to `size`.
    public init(_ size: PixelSize, _ fit: Fit = .fill) {
        self.size = size
        self.fit = fit
    }

    /// The key, for example `Resizing(200x100,contain)`.
    public var key: String { "Resizing(\(size),\(fit.rawValue))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        if self.size.isEmpty || size.isEmpty { return .zero }
        return fit == .inside || fit == .outside ? content(size) : self.size
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        guard !size.isEmpty else { throw .invalidArgument("an image of \(size) pixels cannot exist") }
        switch fit {
        case .fill: return try resized(buffer, crop: nil, to: size)
        case .cover: return try resized(buffer, crop: middle(buffer.size), to: size)
        case .inside, .outside: return try resized(buffer, crop: nil, to: content(buffer.size))
        case .contain:
            let content = content(buffer.size)
            return try resized(buffer, crop: nil, to: content).placed(
                x: (size.width - content.width) / 2, y: (size.height - content.height) / 2, on: size)
        }
    }

    private func content(_ image: PixelSize) -> PixelSize {
        (fit == .outside ? Fit.outside : .inside).layout(image, in: size, mayEnlarge: true).scaled
    }

    /// Returns the largest centered part with this aspect ratio; nil if it is the whole image.
    private func middle(_ image: PixelSize) -> PixelRect? {
        let part = size.scaled(to: image, mayEnlarge: true)
        let (width, height) = (min(part.width, image.width), min(part.height, image.height))
        if width == image.width && height == image.height { return nil }
        return PixelRect(
            x: (image.width - width) / 2, y: (image.height - height) / 2, width: width, height: height)
    }
}
