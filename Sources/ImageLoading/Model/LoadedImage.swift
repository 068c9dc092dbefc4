public import CoderHost
public import ImageModel

/// A picture as a manager hands it over.
///
/// An object, so that a cache can find again what somebody still holds.
public final class LoadedImage: Sendable {
    public enum Content: Sendable {
        case still(DecodedImage)
        case animated(AnimatedImage)
    }

    public let content: Content
    public let format: ImageFormat
    /// Pixels that make one point where it is shown.
    public let scaleFactor: Double
    /// Whether more of it is still to come.
    public let isPartial: Bool
    public let isTransformed: Bool
    /// What it was decoded with.
    public let options: DecodeOptions
    /// What was stored beside the bytes.
    public let extendedData: [UInt8]?
    /// The one that these pixels were made for: whoever holds them for another density holds that, too, so that a cache
    /// finds it.
    private let base: LoadedImage?

    public convenience init(
        _ content: Content, format: ImageFormat, scaleFactor: Double = 1, isPartial: Bool = false,
        isTransformed: Bool = false, options: DecodeOptions = DecodeOptions(), extendedData: [UInt8]? = nil
    ) {
        self.init(
            content, format: format, scaleFactor: scaleFactor, isPartial: isPartial, isTransformed: isTransformed,
            options: options, extendedData: extendedData, base: nil)
    }

    private init(
        _ content: Content, format: ImageFormat, scaleFactor: Double, isPartial: Bool, isTransformed: Bool,
        options: DecodeOptions, extendedData: [UInt8]?, base: LoadedImage?
    ) {
        self.base = base
        self.content = content
        self.format = format
        self.scaleFactor = scaleFactor
        self.isPartial = isPartial
        self.isTransformed = isTransformed
        self.options = options
        self.extendedData = extendedData
    }

    /// A still with the facts that it has itself.
    public convenience init(_ image: DecodedImage, scaleFactor: Double = 1) {
        self.init(.still(image), format: image.format, scaleFactor: scaleFactor)
    }

    /// Size in pixels.
    public var size: PixelSize {
        switch content {
        case .still(let image): image.pixels.size
        case .animated(let image): image.size
        }
    }

    /// The still, or nil for an animation.
    public var still: DecodedImage? { if case .still(let image) = content { image } else { nil } }
    /// The animation, or nil for a still.
    public var animation: AnimatedImage? { if case .animated(let image) = content { image } else { nil } }
    public var isAnimated: Bool { animation?.isAnimated ?? false }
    public var isThumbnail: Bool { !(options.thumbnailSize?.isEmpty ?? true) }
    public var frameCount: Int { animation?.frameCount ?? 1 }

    /// Bytes that it may take in memory: the pixels of all frames.
    public var memoryCost: Int {
        switch content {
        case .still(let image): return image.pixels.byteCount
        case .animated(let image):
            let (bytes, overflow) = image.bytesPerFrame.multipliedReportingOverflow(by: max(1, image.frameCount))
            return overflow ? .max : bytes
        }
    }

    /// The same pixels, for another density.
    public func withScaleFactor(_ factor: Double) -> LoadedImage {
        if factor == scaleFactor { return self }
        let base = self.base ?? self
        if factor == base.scaleFactor { return base }
        return LoadedImage(
            content, format: format, scaleFactor: factor, isPartial: isPartial, isTransformed: isTransformed,
            options: options, extendedData: extendedData, base: base)
    }
}

/// A picture, and how it was come by.
public struct LoadResult: Sendable {
    public var image: LoadedImage
    /// The file; nil for what was transformed or reduced, and for hits in memory.
    public var data: [UInt8]?
    /// Where it was found; empty when it was loaded.
    public var tier: CacheTiers
    public var url: String
    /// What the server said; nil where none was asked.
    public var response: ResponseFacts?

    public init(
        image: LoadedImage, data: [UInt8]? = nil, tier: CacheTiers = [], url: String, response: ResponseFacts? = nil
    ) {
        self.image = image
        self.data = data
        self.tier = tier
        self.url = url
        self.response = response
    }
}

/// What can be told of a picture that is being loaded.
public enum LoadEvent: Sendable {
    /// Bytes that have arrived, and how many there will be; nil while that is not known.
    case progress(received: Int, expected: Int?)
    /// A part of the picture, or an animation that is still growing.
    case preview(LoadedImage)
    /// A cached picture whose server is still being asked; see ``LoadOptions/refreshesCached``.
    case cached(LoadResult)
    case finished(LoadResult)
}
