public import ImageModel

/// Resizes to an exact size.
public struct Resizing: ImageTransformer, Hashable {
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// Each side by itself; the aspect is not kept.
        case fill
        /// All of the picture in the middle, with clear bars where the aspects differ; the format gets alpha for them.
        case aspectFit
        /// The middle of the picture, cut to the aspect.
        case aspectFill
        /// All of the picture without bars: one side of the result may be shorter than asked for.
        case inside
    }

    public var size: PixelSize
    public var mode: Mode

    public init(_ size: PixelSize, mode: Mode = .fill) {
        self.size = size
        self.mode = mode
    }

    /// For example `Resizing(200x100,aspectFit)`.
    public var key: String { "Resizing(\(size),\(mode.rawValue))" }

    public func outputSize(for size: PixelSize) -> PixelSize {
        if self.size.isEmpty || size.isEmpty { return .zero }
        return mode == .inside ? content(size) : self.size
    }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        guard !size.isEmpty else { throw .invalidArgument("a picture of \(size) pixels cannot exist") }
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

    private func content(_ picture: PixelSize) -> PixelSize { picture.scaled(to: size, mayEnlarge: true) }

    /// The largest part with this aspect; nil is all of it.
    private func middle(_ picture: PixelSize) -> PixelRect? {
        let part = size.scaled(to: picture, mayEnlarge: true)
        let (width, height) = (min(part.width, picture.width), min(part.height, picture.height))
        if width == picture.width && height == picture.height { return nil }
        return PixelRect(
            x: (picture.width - width) / 2, y: (picture.height - height) / 2, width: width, height: height)
    }
}
