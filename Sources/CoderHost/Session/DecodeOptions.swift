public import ImageModel
public import ImageProcessing

/// How a picture is to come out: how large, in which colours, which way up.
public struct DecodeOptions: Sendable, Hashable {
    /// The part of the upright image that is decoded; nil for all of it. ``thumbnailSize`` is that of the part then.
    ///
    /// A coder that can decode a part for less does so; memory grows with the part alone where rows can be read in bands.
    public var region: PixelRect?
    /// The box that the upright picture is fitted into; nil or an empty box for its full size.
    ///
    /// A picture that is inside the box already stays as it is.
    public var thumbnailSize: PixelSize?
    /// Without it the result has exactly the size of the box, as far as that does not enlarge a side.
    public var preservesAspectRatio = true
    /// Bytes that the pixels of all frames may take together; comes before ``thumbnailSize``, and keeps the aspect.
    ///
    /// A pixel counts four bytes, or more where its format has more.
    public var limitBytes: Int?
    public var resampling = Resampling()
    /// Whether a small version in the file will do where it is large enough and decoding the picture is dear.
    public var usesEmbeddedThumbnail = true
    /// Whether pixels come out upright.
    public var appliesOrientation = false
    /// Whether colours come out as sRGB; without it they stay as they are, with the profile that describes them.
    public var convertsToSRGB = false
    /// Whether brightness above white is kept; nil keeps pixels as they are stored.
    public var dynamicRange: DynamicRange?
    /// Only the first frame of an animation.
    public var firstFrameOnly = false
    /// Pixels of the picture that make one point where it is shown; 1 at least. No pixel depends on it.
    public var scaleFactor = 1.0 {
        didSet { if !(scaleFactor >= 1) { scaleFactor = 1 } }
    }
    /// The format that the bytes are tried as first, by the extension of a file name.
    public var fileExtensionHint: String?
    /// The format that the bytes are tried as first, by MIME type, uniform type identifier or format name; comes before
    /// the extension.
    public var typeHint: String?
    /// What the coder alone understands.
    public var coder = CoderOptions()

    public init() {}

    /// A picture that fits into a box.
    public static func thumbnail(_ box: PixelSize, preservesAspectRatio: Bool = true) -> DecodeOptions {
        var options = DecodeOptions()
        options.thumbnailSize = box
        options.preservesAspectRatio = preservesAspectRatio
        return options
    }

    /// A picture whose pixels take so many bytes at most.
    public static func limited(toBytes limit: Int) -> DecodeOptions {
        var options = DecodeOptions()
        options.limitBytes = limit
        return options
    }
}

/// Whether pixels may be brighter than white.
public enum DynamicRange: Sendable, Hashable {
    /// 8 bits of sRGB; what is brighter is mapped into it.
    case standard
    /// As stored, with its code points or profile.
    case high
}

extension DecodeOptions {
    /// Whether colours come out as sRGB, because that was asked for or because nothing else is of standard range.
    var makesSRGB: Bool { convertsToSRGB || dynamicRange == .standard }

    /// The size that a picture is reduced to; its own where nothing is asked for.
    ///
    /// - Parameters:
    ///   - size: as it is seen, upright.
    ///   - frameCount: frames that share ``limitBytes``.
    ///   - mayEnlarge: whether the image is made of vectors, which have no size of their own.
    public func targetSize(
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
    /// So much less that it has `most` pixels: a side that is one pixel long cannot become shorter.
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
