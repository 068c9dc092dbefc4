/// The CIE 1931 xy coordinates of three primaries and of white.
///
/// - Units: 1/100,000.
public struct PrimaryPoints: Sendable, Hashable {
    public var redX, redY, greenX, greenY, blueX, blueY, whiteX, whiteY: Int32

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

/// The display that an image was mastered on.
///
/// - Source: SMPTE ST 2086.
public struct MasteringDisplay: Sendable, Hashable {
    public var colors: PrimaryPoints
    /// - Units: 1/10,000 cd/m².
    public var maxLuminance, minLuminance: UInt32

    public init(colors: PrimaryPoints, maxLuminance: UInt32, minLuminance: UInt32) {
        self.colors = colors
        self.maxLuminance = maxLuminance
        self.minLuminance = minLuminance
    }
}

/// How bright an image is: its brightest pixel, and its brightest average of one frame.
///
/// - Units: 1/10,000 cd/m².
/// - Source: CTA-861.3, MaxCLL and MaxFALL.
public struct ContentLight: Sendable, Hashable {
    public var maximum, maximumFrameAverage: UInt32

    public init(maximum: UInt32, maximumFrameAverage: UInt32) {
        self.maximum = maximum
        self.maximumFrameAverage = maximumFrameAverage
    }
}
