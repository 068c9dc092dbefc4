public import CoderHost
public import ImageModel

/// An image that a manager has loaded.
///
/// It is a class, so that a weak table can find an image that the application still holds.
public final class LoadedImage: Sendable {
    /// A still or an animation.
    package enum Content: Sendable {
        case still(DecodedImage)
        case animated(AnimatedImage)
    }

    /// The still or animation.
    package let content: Content
    /// The format of the file.
    public let format: ImageFormat
    /// Pixels per point of display.
    public let scaleFactor: Double
    /// Whether more of the image is still to arrive.
    public let isPartial: Bool
    /// Whether a transformer has changed the image.
    package let isTransformed: Bool
    /// The options of its decode.
    package let options: DecodeOptions
    /// The extended data of its cache entry.
    public let extendedData: [UInt8]?
    /// The original of a copy with another scale factor; holding it keeps the cached object alive.
    private let base: LoadedImage?
    /// The lifetime that the server declared; nil if it declared none, or for an image of another origin.
    let freshness: HTTPFreshness?

    /// Creates an image.
    package convenience init(
        _ content: Content, format: ImageFormat, scaleFactor: Double = 1, isPartial: Bool = false,
        isTransformed: Bool = false, options: DecodeOptions = DecodeOptions(), extendedData: [UInt8]? = nil
    ) {
        self.init(
            content, format: format, scaleFactor: scaleFactor, isPartial: isPartial, isTransformed: isTransformed,
            options: options, extendedData: extendedData, base: nil, freshness: nil)
    }

    private init(
        _ content: Content, format: ImageFormat, scaleFactor: Double, isPartial: Bool, isTransformed: Bool,
        options: DecodeOptions, extendedData: [UInt8]?, base: LoadedImage?,
        freshness: HTTPFreshness?
    ) {
        self.freshness = freshness
        self.base = base
        self.content = content
        self.format = format
        self.scaleFactor = scaleFactor
        self.isPartial = isPartial
        self.isTransformed = isTransformed
        self.options = options
        self.extendedData = extendedData
    }

    /// Creates an image from a decoded still.
    public convenience init(_ image: DecodedImage, scaleFactor: Double = 1) {
        self.init(.still(image), format: image.format, scaleFactor: scaleFactor)
    }

    /// Creates an image from an animation.
    public convenience init(_ animation: AnimatedImage, scaleFactor: Double = 1) {
        self.init(.animated(animation), format: animation.format, scaleFactor: scaleFactor)
    }

    /// The size in pixels.
    public var size: PixelSize {
        switch content {
        case .still(let image): image.pixels.size
        case .animated(let image): image.size
        }
    }

    /// The still, or nil for an animation.
    public var still: DecodedImage? {
        if case .still(let image) = content { image } else { nil }
    }
    /// The animation, or nil for a still.
    public var animation: AnimatedImage? {
        if case .animated(let image) = content { image } else { nil }
    }
    /// Whether it is an animation with more than one frame.
    package var isAnimated: Bool { animation?.isAnimated ?? false }
    /// Whether it was decoded as a thumbnail.
    package var isThumbnail: Bool { if case .box = options.size { true } else { false } }
    /// The number of frames; 1 for a still.
    package var frameCount: Int { animation?.frameCount ?? 1 }

    /// The memory that the pixels of all frames may occupy, in bytes.
    public var memoryCost: Int {
        switch content {
        case .still(let image): return image.pixels.byteCount
        case .animated(let image):
            let (bytes, overflow) = image.bytesPerFrame.multipliedReportingOverflow(by: max(1, image.frameCount))
            return overflow ? .max : bytes
        }
    }

    /// Returns the same pixels with another scale factor.
    package func withScaleFactor(_ factor: Double) -> LoadedImage {
        if factor == scaleFactor { return self }
        let base = self.base ?? self
        if factor == base.scaleFactor { return base }
        return LoadedImage(
            content, format: format, scaleFactor: factor, isPartial: isPartial, isTransformed: isTransformed,
            options: options, extendedData: extendedData, base: base, freshness: freshness)
    }

    /// Returns the same image with a lifetime.
    func with(_ freshness: HTTPFreshness?) -> LoadedImage {
        if freshness == self.freshness { return self }
        return LoadedImage(
            content, format: format, scaleFactor: scaleFactor, isPartial: isPartial, isTransformed: isTransformed,
            options: options, extendedData: extendedData, base: nil, freshness: freshness)
    }
}

/// The result of a load.
public struct LoadResult: Sendable {
    /// The image.
    public var image: LoadedImage
    /// The original file; nil for a transformed or reduced image, and for memory hits unless requested.
    public var data: [UInt8]?
    /// The tier that had the image; empty if it was loaded.
    public var tier: CacheTiers
    /// The requested URL, or the key of a cache query.
    package var url: String
    /// The server's response; nil if no server was asked.
    public var response: ResponseFacts?

    package init(
        image: LoadedImage, data: [UInt8]? = nil, tier: CacheTiers = [], url: String, response: ResponseFacts? = nil
    ) {
        self.image = image
        self.data = data
        self.tier = tier
        self.url = url
        self.response = response
    }
}

/// An event of a running load.
public enum LoadEvent: Sendable {
    /// Received bytes, and the total number; nil if unknown.
    case progress(received: Int, expected: Int?)
    /// A partial image, or an animation that is still growing.
    case preview(LoadedImage)
    /// A cached image that is still being revalidated; see ``CachePolicy/Freshness/revalidate``.
    case cached(LoadResult)
    /// The final result.
    case finished(LoadResult)
}
