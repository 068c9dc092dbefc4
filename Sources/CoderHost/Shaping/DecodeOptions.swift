public import ImageModel
public import ImageProcessing

/// The requested part, size, colors and orientation of a decoded image.
///
/// ``ImageShape`` applies them to stills, frames of animations, truncated images and rows.
public struct DecodeOptions: Sendable, Hashable {
    /// The part of the upright image to decode; nil for the whole image. ``size`` then applies to the part.
    ///
    /// If the coder can decode a part at lower cost, it does; if rows can be read in bands, memory depends only on the
    /// part. The part is limited to the image, with a warning.
    public var part: DecodedPart?
    /// The size of the result.
    public var size = DecodedSize.full
    /// The part that the fit `.cover` keeps, and the place of ``part`` and of an image that `.contain` pads.
    ///
    /// All frames of an animation keep the part that the first one decides.
    public var cropPosition = CropPosition.center
    /// The filter for resizing.
    package var resampling = Resampling()
    /// Whether to use an embedded thumbnail if it is large enough and decoding the image is expensive.
    public var usesEmbeddedThumbnail = true
    /// Whether pixels are turned upright.
    public var appliesOrientation = false
    /// The colors of the result.
    public var colors = DecodedColors.stored
    /// Whether to decode only the first frame of an animation.
    public var firstFrameOnly = false
    /// The format to try first.
    public var hint = FormatHint()
    /// Options for the coder.
    public var coder = CoderOptions()

    /// The rectangle to decode, if ``part`` is one.
    public var region: PixelRect? {
        get { if case .rect(let rect) = part { rect } else { nil } }
        set { part = newValue.map(DecodedPart.rect) }
    }

    /// Creates options for the full image.
    public init() {}

    /// Returns options for an image that fits into a box; a box without width or height changes nothing.
    ///
    /// With `.fill`, the image has exactly the size of the box. No fit enlarges a side.
    public static func thumbnail(_ box: PixelSize, _ fit: Fit = .inside) -> DecodeOptions {
        var options = DecodeOptions()
        if !box.isEmpty { options.size = .box(box, fit, enlarging: fit.enlarges ? false : nil) }
        return options
    }

    /// Returns options that limit the bytes of the pixels.
    package static func limited(toBytes limit: Int) -> DecodeOptions {
        var options = DecodeOptions()
        options.size = .limited(toBytes: limit)
        return options
    }
}

/// A part of an image.
public enum DecodedPart: Sendable, Hashable {
    /// A rectangle, limited to the image.
    case rect(PixelRect)
    /// The largest part with a ratio of width to height, at the crop position of the options.
    case aspect(width: Double, height: Double)
    /// A part of a size, limited to the image, at the crop position of the options.
    case size(PixelSize)

    /// Returns the requested part as text if less of it is inside the image; nil otherwise.
    func excess(over inside: PixelSize) -> String? {
        switch self {
        case .rect(let rect): rect.size == inside ? nil : "\(rect)"
        case .size(let size): size == inside ? nil : "\(size)"
        case .aspect: nil
        }
    }

    /// Returns the rectangle in an upright image.
    ///
    /// - Parameter gravity: the place of a part without one.
    package func rect(in whole: PixelSize, _ gravity: Gravity) -> PixelRect {
        switch self {
        case .rect(let rect): return rect
        case .size(let size):
            let size = PixelSize(min(size.width, whole.width), min(size.height, whole.height))
            return gravity.place(size, in: whole)
        case .aspect(let width, let height):
            guard width > 0, height > 0, width.isFinite, height.isFinite, !whole.isEmpty else { return .init(whole) }
            let (sides, ratio) = ((Double(whole.width), Double(whole.height)), width / height)
            let size =
                sides.0 > sides.1 * ratio
                ? PixelSize(min(whole.width, max(1, Int((sides.1 * ratio).rounded()))), whole.height)
                : PixelSize(whole.width, min(whole.height, max(1, Int((sides.0 / ratio).rounded()))))
            return gravity.place(size, in: whole)
        }
    }
}

/// The colors of a decoded image.
public enum DecodedColors: Sendable, Hashable {
    /// As stored, with code points or profile; brightness above white is kept.
    case stored
    /// Converted to sRGB, with the bits per sample of the file.
    case sRGB
    /// Converted to sRGB with 8 bits per sample; brighter values are tone mapped into it.
    case standardRange
}

/// The format that the caller expects, which decides only the order in which coders are asked.
public struct FormatHint: Sendable, Hashable {
    /// A MIME type, uniform type identifier or format name; has precedence over the extension.
    public var type: String?
    /// A file name extension.
    public var fileExtension: String?

    /// Creates a hint.
    public init(type: String? = nil, fileExtension: String? = nil) {
        self.type = type
        self.fileExtension = fileExtension
    }

    /// Whether there is neither type nor extension.
    package var isEmpty: Bool { type == nil && fileExtension == nil }
}
