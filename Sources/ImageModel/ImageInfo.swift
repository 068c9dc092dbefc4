/// The four numbers of ITU-T H.273 that say what colours mean.
public struct CodePoints: Sendable, Hashable {
    public var primaries: UInt8
    public var transfer: UInt8
    /// As stored in the file; decoded pixels are RGB.
    public var matrix: UInt8
    public var isFullRange: Bool

    public init(primaries: UInt8, transfer: UInt8, matrix: UInt8, isFullRange: Bool) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    public static let sRGB = CodePoints(primaries: 1, transfer: 13, matrix: 0, isFullRange: true)
}

/// What a file says about its colours; saying nothing is not the same as sRGB.
public struct ColorDescription: Sendable, Hashable {
    /// Code points, if the file has any.
    public var codePoints: CodePoints?
    /// Whether a blob of kind `.icc` is there.
    public var hasProfile: Bool
    /// Where both are there, whether the code points win.
    public var prefersCodePoints: Bool

    public init(codePoints: CodePoints? = nil, hasProfile: Bool = false, prefersCodePoints: Bool = false) {
        self.codePoints = codePoints
        self.hasProfile = hasProfile
        self.prefersCodePoints = prefersCodePoints
    }
}

/// How many pixels make a length.
public enum PixelDensity: Sendable, Hashable {
    case perMeter(x: UInt32, y: UInt32)
    /// Only the ratio has meaning.
    case aspect(x: UInt32, y: UInt32)
}

/// A colour in RGBA8 with straight alpha.
public struct RGBAColor: Sendable, Hashable {
    public var red, green, blue, alpha: UInt8

    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }
}

/// The facts of a whole picture, known before any pixel is decoded.
public struct ImageInfo: Sendable, Hashable {
    /// The canvas in pixels, before orientation unless `orientationApplied`.
    public var size: PixelSize
    /// Nil when the file does not say.
    public var orientation: Orientation?
    /// Whether pixels come out upright and `orientation` is only for show.
    public var orientationApplied: Bool
    /// Significant bits of one stored sample.
    public var bitDepth: Int
    /// 1 for a still, nil when it is not known yet.
    public var frameCount: Int?
    public var loopCount: LoopCount
    public var isAnimated: Bool
    public var hasAlpha: Bool
    public var isLossy: Bool
    /// The format that needs no conversion.
    public var nativeFormat: PixelFormat
    public var color: ColorDescription
    public var density: PixelDensity?
    public var background: RGBAColor?
    /// Embedded thumbnails.
    public var thumbnailCount: Int
    /// Whether a still can be decoded in bands of whole rows, in memory that does not grow with its height.
    public var decodesRows: Bool

    public init(
        size: PixelSize, nativeFormat: PixelFormat, bitDepth: Int = 8, hasAlpha: Bool? = nil,
        orientation: Orientation? = nil, orientationApplied: Bool = false, frameCount: Int? = 1,
        loopCount: LoopCount = .unknown, isAnimated: Bool = false, isLossy: Bool = false,
        color: ColorDescription = ColorDescription(), density: PixelDensity? = nil, background: RGBAColor? = nil,
        thumbnailCount: Int = 0, decodesRows: Bool = false
    ) {
        self.size = size
        self.nativeFormat = nativeFormat
        self.bitDepth = bitDepth
        self.hasAlpha = hasAlpha ?? nativeFormat.hasTransparency
        self.orientation = orientation
        self.orientationApplied = orientationApplied
        self.frameCount = frameCount
        self.loopCount = loopCount
        self.isAnimated = isAnimated
        self.isLossy = isLossy
        self.color = color
        self.density = density
        self.background = background
        self.thumbnailCount = thumbnailCount
        self.decodesRows = decodesRows
    }
}
