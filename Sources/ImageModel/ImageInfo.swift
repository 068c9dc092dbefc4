/// The ITU-T H.273 code points that define the meaning of color samples.
public struct CodePoints: Sendable, Hashable {
    /// The color primaries.
    public var primaries: UInt8
    /// The transfer characteristics.
    public var transfer: UInt8
    /// The matrix as stored in the file; decoded pixels are RGB.
    public var matrix: UInt8
    /// Whether samples use the full range.
    public var isFullRange: Bool

    /// Creates code points.
    public init(primaries: UInt8, transfer: UInt8, matrix: UInt8, isFullRange: Bool) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// Whether neither primaries nor transfer are specified (H.273: 2); the matrix alone describes no color.
    package var isUnspecified: Bool { primaries == 2 && transfer == 2 }

    /// The code points of sRGB.
    package static let sRGB = CodePoints(primaries: 1, transfer: 13, matrix: 0, isFullRange: true)
}

/// The color description stored in a file; an empty description is not the same as sRGB.
public struct ColorDescription: Sendable, Hashable {
    /// The code points, if the file has any.
    public var codePoints: CodePoints?
    /// Whether the image has a blob of kind `.icc`.
    package var hasProfile: Bool
    /// Whether the code points take precedence if a profile is present too.
    package var prefersCodePoints: Bool
    /// The exponent from light to sample; code points and profile take precedence over it.
    ///
    /// - Units: 1/100,000.
    public var gamma: UInt32?
    /// The primaries that go with ``gamma``.
    package var primaries: PrimaryPoints?
    /// The display on which the image was mastered.
    public var mastering: MasteringDisplay?
    /// The light levels of the image.
    public var contentLight: ContentLight?

    /// Creates a value from its properties; unknown properties have defaults.
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

/// The number of pixels per unit of length.
public enum PixelDensity: Sendable, Hashable {
    /// The pixels per meter.
    case perMeter(x: UInt32, y: UInt32)
    /// Only the ratio is meaningful.
    case aspect(x: UInt32, y: UInt32)
}

/// A color in RGBA8 with straight alpha.
public struct RGBAColor: Sendable, Hashable {
    /// The samples of the color.
    public var red, green, blue, alpha: UInt8

    /// Creates a color, opaque by default.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// Opaque white.
    public static let white = RGBAColor(red: 255, green: 255, blue: 255)
    /// Opaque black.
    package static let black = RGBAColor(red: 0, green: 0, blue: 0)
    /// Fully transparent black.
    package static let clear = RGBAColor(red: 0, green: 0, blue: 0, alpha: 0)
}

/// The cost of decoding a part of an image.
public enum RegionCost: UInt32, Sendable, Hashable, CaseIterable {
    /// As much as decoding the whole image.
    case whole = 0
    /// Rows above the part are parsed but not reconstructed; rows below it are not read. The cost grows with the lower
    /// edge.
    case above = 1
    /// Only the tiles that overlap the part are decoded.
    case tiles = 2
}

/// The properties of a whole image, known before any pixel is decoded.
public struct ImageInfo: Sendable, Hashable {
    /// The size of the canvas in pixels, before orientation unless `orientationApplied`.
    public var size: PixelSize
    /// The stored orientation; nil if the file does not state it.
    public var orientation: Orientation?
    /// Whether decoded pixels are already upright, so that `orientation` is only informative.
    package var orientationApplied: Bool
    /// The number of significant bits in one stored sample.
    public var bitDepth: Int
    /// The number of frames: 1 for a still image, nil while unknown.
    public var frameCount: Int?
    /// The number of times an animation is played.
    public var loopCount: LoopCount
    /// Whether the image is an animation.
    public var isAnimated: Bool
    /// Whether the image has an alpha channel.
    public var hasAlpha: Bool
    /// Whether the data was compressed lossily.
    package var isLossy: Bool
    /// The format in which pixels are decoded without conversion.
    public var nativeFormat: PixelFormat
    /// The color description of the file.
    public var color: ColorDescription
    /// The pixel density of the file.
    public var density: PixelDensity?
    /// The background color of the file.
    package var background: RGBAColor?
    /// Whether the file holds further items: pages, thumbnails, auxiliary images.
    public var hasItems: Bool
    /// Whether a still image can be decoded in bands of rows, using memory independent of its height.
    package var decodesRows: Bool
    /// Whether the image is a vector image: its size is nominal, and it can be decoded at any size.
    package var isScalable: Bool
    /// The size of the tiles in which the file is stored.
    package var tileSize: PixelSize?
    /// The cost of decoding a part, if the coder has the role `.region`.
    package var regionCost: RegionCost

    /// Creates a value from its properties; unknown properties have defaults.
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
