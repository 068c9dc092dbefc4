public import ImageModel

/// Resizes to an exact size.
public struct Resizing: ImageTransformer, Hashable {
    /// The way an image is fitted into the size.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// Scales each side independently; the aspect ratio is not preserved.
        case fill
        /// Scales the whole image and centers it, with transparent bars; the format gets alpha if bars are needed.
        case aspectFit
        /// Crops the middle of the image to the box's aspect ratio and scales it.
        case aspectFill
        /// Scales the whole image without bars; one side of the result may be shorter than requested.
        case inside
    }

    /// The size of the result.
    package var size: PixelSize
    /// The way the image is fitted.
    package var mode: Mode

    /// Creates a transformer that resizes to `size`.
    public init(_ size: PixelSize, mode: Mode = .fill) {
        self.size = size
        self.mode = mode
    }

    /// The key, for example `Resizing(200x100,aspectFit)`.
    public var key: String { "Resizing(\(size),\(mode.rawValue))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        if self.size.isEmpty || size.isEmpty { return .zero }
        return mode == .inside ? content(size) : self.size
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        guard !size.isEmpty else { throw .invalidArgument("an image of \(size) pixels cannot exist") }
        switch mode {
        case .fill: return try resized(buffer, crop: nil, to: size)
        case .aspectFill: return try resized(buffer, crop: middle(buffer.size), to: size)
        case .inside: return try resized(buffer, crop: nil, to: content(buffer.size))
        case .aspectFit:
            let content = content(buffer.size)
            return try resized(buffer, crop: nil, to: content).placed(
                x: (size.width - content.width) / 2, y: (size.height - content.height) / 2, on: size)
        }
    }

    private func content(_ image: PixelSize) -> PixelSize { image.scaled(to: size, mayEnlarge: true) }

    /// Returns the largest centered part with this aspect ratio; nil if it is the whole image.
    private func middle(_ image: PixelSize) -> PixelRect? {
        let part = size.scaled(to: image, mayEnlarge: true)
        let (width, height) = (min(part.width, image.width), min(part.height, image.height))
        if width == image.width && height == image.height { return nil }
        return PixelRect(
            x: (image.width - width) / 2, y: (image.height - height) / 2, width: width, height: height)
    }
}
