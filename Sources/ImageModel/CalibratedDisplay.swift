/// The CIE 1931 xy coordinates of three primaries and of white.
///
/// - Units: 1/100,000.
public struct PrimaryPoints: Sendable, Hashable {
    /// The x and y coordinates of red, green, blue and white.
    package var redX, redY, greenX, greenY, blueX, blueY, whiteX, whiteY: Int32

    /// Creates the coordinates of primaries and white.
    public init(
        redX: Int32, redY: Int32, greenX: Int32, greenY: Int32, blueX: Int32, blueY: Int32, whiteX: Int32,
        whiteY: Int32
    ) {
        self.redX = redX
        self.redY = redY
        self.greenX = greenX
        self.greenY = greenY
        self.blueX = blueX
        self.blueY = blueY
        self.whiteX = whiteX
        self.whiteY = whiteY
    }
}

/// The display on which an image was mastered.
///
/// - Source: SMPTE ST 2086.
public struct MasteringDisplay: Sendable, Hashable {
    /// The primaries and the white of the display.
    package var colors: PrimaryPoints
    /// The largest and the smallest luminance.
    ///
    /// - Units: 1/10,000 cd/m².
    public var maxLuminance, minLuminance: UInt32

    /// Creates the description of a mastering display.
    public init(colors: PrimaryPoints, maxLuminance: UInt32, minLuminance: UInt32) {
        self.colors = colors
        self.maxLuminance = maxLuminance
        self.minLuminance = minLuminance
    }
}

/// The light levels of an image: its brightest pixel, and its brightest average of one frame.
///
/// - Units: 1/10,000 cd/m².
/// - Source: CTA-861.3, MaxCLL and MaxFALL.
public struct ContentLight: Sendable, Hashable {
    /// The brightest pixel, and the brightest average of a frame.
    public var maximum, maximumFrameAverage: UInt32

    /// Creates the light levels of an image.
    public init(maximum: UInt32, maximumFrameAverage: UInt32) {
        self.maximum = maximum
        self.maximumFrameAverage = maximumFrameAverage
    }
}
