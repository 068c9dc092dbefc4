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
    /// The exponent from light to sample; code points and profile win over it.
    ///
    /// - Units: 1/100,000.
    public var gamma: UInt32?
    /// The primaries that go with ``gamma``.
    public var primaries: PrimaryPoints?
    public var mastering: MasteringDisplay?
    public var contentLight: ContentLight?

    public init(
        codePoints: CodePoints? = nil, hasProfile: Bool = false, prefersCodePoints: Bool = false, gamma: UInt32? = nil,
        primaries: PrimaryPoints? = nil, mastering: MasteringDisplay? = nil, contentLight: ContentLight? = nil
    ) {
        self.codePoints = codePoints
        self.hasProfile = hasProfile
        self.prefersCodePoints = prefersCodePoints
        self.gamma = gamma
        self.primaries = primaries
        self.mastering = mastering
        self.contentLight = contentLight
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

    public static let white = RGBAColor(red: 255, green: 255, blue: 255)
    public static let black = RGBAColor(red: 0, green: 0, blue: 0)
    public static let clear = RGBAColor(red: 0, green: 0, blue: 0, alpha: 0)
}

/// What decoding a part of an image costs.
public enum RegionCost: UInt32, Sendable, Hashable, CaseIterable {
    /// As much as the whole image.
    case whole = 0
    /// Rows above the part are parsed, but not reconstructed; rows below are not read. The cost grows with the lower edge.
    case above = 1
    /// Only the tiles that the part touches.
    case tiles = 2
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
    /// Whether the file holds more items than this one: pages, thumbnails, auxiliary images.
    public var hasItems: Bool
    /// Whether a still can be decoded in bands of whole rows, in memory that does not grow with its height.
    public var decodesRows: Bool
    /// Whether the image consists of vectors: its size is nominal, and every size can be decoded.
    public var isScalable: Bool
    /// The tiles that the file is stored in.
    public var tileSize: PixelSize?
    /// What decoding a part costs, where the coder has the role `.region`.
    public var regionCost: RegionCost

    public init(
        size: PixelSize, nativeFormat: PixelFormat, bitDepth: Int = 8, hasAlpha: Bool? = nil,
        orientation: Orientation? = nil, orientationApplied: Bool = false, frameCount: Int? = 1,
        loopCount: LoopCount = .unknown, isAnimated: Bool = false, isLossy: Bool = false,
        color: ColorDescription = ColorDescription(), density: PixelDensity? = nil, background: RGBAColor? = nil,
        hasItems: Bool = false, decodesRows: Bool = false, isScalable: Bool = false, tileSize: PixelSize? = nil,
        regionCost: RegionCost = .whole
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
        self.hasItems = hasItems
        self.decodesRows = decodesRows
        self.isScalable = isScalable
        self.tileSize = tileSize
        self.regionCost = regionCost
    }
}
