public import ImageModel
package import ImageProcessing

/// The requested size, colors and orientation of a decoded image.
public struct DecodeOptions: Sendable, Hashable {
    /// The part of the upright image to decode; nil for the whole image. ``thumbnailSize`` then applies to the part.
    ///
    /// If the coder can decode a part at lower cost, it does; if rows can be read in bands, memory depends only on the
    /// part.
    public var region: PixelRect?
    /// The box into which the upright image is fitted; nil or an empty box for full size.
    ///
    /// An image that already fits into the box keeps its size.
    public var thumbnailSize: PixelSize?
    /// If false, the result has exactly the size of the box, but no side is enlarged.
    public var preservesAspectRatio = true
    /// The maximum bytes for the pixels of all frames; applied before ``thumbnailSize``, keeping the aspect ratio.
    ///
    /// A pixel counts four bytes, or more if its format needs more.
    public var limitBytes: Int?
    /// The filter for resizing.
    package var resampling = Resampling()
    /// Whether to use an embedded thumbnail if it is large enough and decoding the image is expensive.
    public var usesEmbeddedThumbnail = true
    /// Whether pixels are turned upright.
    public var appliesOrientation = false
    /// Whether colors are converted to sRGB; if false, the colors and their profile are kept.
    public var convertsToSRGB = false
    /// Whether to keep brightness above white; nil keeps pixels as they are stored.
    public var dynamicRange: DynamicRange?
    /// Whether to decode only the first frame of an animation.
    public var firstFrameOnly = false
    /// The number of image pixels per display point, at least 1; it does not affect the pixels.
    package var scaleFactor = 1.0 {
        didSet { if !(scaleFactor >= 1) { scaleFactor = 1 } }
    }
    /// The format to try first, as a file name extension.
    public var fileExtensionHint: String?
    /// The format to try first, as a MIME type, uniform type identifier or format name; has precedence over the
    /// extension.
    public var typeHint: String?
    /// Options for the coder.
    public var coder = CoderOptions()

    /// Creates options for the full image.
    public init() {}

    /// Returns options for an image that fits into a box.
    public static func thumbnail(_ box: PixelSize, preservesAspectRatio: Bool = true) -> DecodeOptions {
        var options = DecodeOptions()
        options.thumbnailSize = box
        options.preservesAspectRatio = preservesAspectRatio
        return options
    }

    /// Returns options that limit the bytes of the pixels.
    package static func limited(toBytes limit: Int) -> DecodeOptions {
        var options = DecodeOptions()
        options.limitBytes = limit
        return options
    }
}

/// The range of brightness values.
public enum DynamicRange: Sendable, Hashable {
    /// 8-bit sRGB; brighter values are tone mapped into it.
    case standard
    /// As stored, with code points or profile.
    case high
}

extension DecodeOptions {
    /// Whether colors are converted to sRGB, by request or because the standard range requires it.
    var makesSRGB: Bool { convertsToSRGB || dynamicRange == .standard }

    /// Returns the size to which an image is reduced; its own size without a request.
    ///
    /// - Parameters:
    ///   - size: the size of the upright image.
    ///   - frameCount: the number of frames that share ``limitBytes``.
    ///   - mayEnlarge: whether the image is vector graphics and can be enlarged.
    package func targetSize(
        for size: PixelSize, _ format: PixelFormat, frameCount: Int = 1, mayEnlarge: Bool = false
    ) -> PixelSize {
        if let limitBytes {
            let bytesPerPixel = max(4, format.bytesPerPixel)
            let most = max(1, limitBytes / bytesPerPixel / max(1, frameCount))
            if (size.area ?? .max) <= most { return size }
            return size.limited(toBytes: limitBytes, bytesPerPixel: bytesPerPixel, frameCount: frameCount)
                .within(most, size)
        }
        guard let box = thumbnailSize, !box.isEmpty else { return size }
        return size.scaled(to: box, preservesAspect: preservesAspectRatio, mayEnlarge: mayEnlarge)
    }
}

extension PixelSize {
    /// Reduces a size to at most `most` pixels; a side of one pixel is not reduced.
    fileprivate func within(_ most: Int, _ whole: PixelSize) -> PixelSize {
        var result = PixelSize(min(width, whole.width), min(height, whole.height))
        if (result.area ?? .max) > most {
            if result.width >= result.height {
                result.width = max(1, most / result.height)
            } else {
                result.height = max(1, most / result.width)
            }
        }
        return result
    }
}
