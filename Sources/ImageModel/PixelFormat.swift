/// The storage of one pixel: channels in memory order, kind and depth of a sample, meaning of alpha.
///
/// - Shape: samples are interleaved; samples of more than 8 bits are native endian.
public struct PixelFormat: Sendable, Hashable, CustomStringConvertible {
    /// The channels in memory order.
    public enum Channels: UInt8, Sendable, Hashable, CaseIterable {
        /// Gray.
        case gray = 1
        /// Gray, alpha.
        case grayAlpha = 2
        /// Red, green, blue.
        case rgb = 3
        /// Red, green, blue, alpha.
        case rgba = 4
        /// Blue, green, red, alpha.
        case bgra = 5
        /// Cyan, magenta, yellow, black.
        case cmyk = 6

        /// The number of samples in one pixel.
        @inlinable package var count: Int {
            switch self {
            case .gray: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgba, .bgra, .cmyk: 4
            }
        }

        /// Whether there is an alpha channel.
        @inlinable package var hasAlpha: Bool { self == .grayAlpha || self == .rgba || self == .bgra }
    }

    /// The kind of a sample.
    public enum Numeric: UInt8, Sendable, Hashable {
        /// Integers 0 … 2ⁿ − 1 that represent 0.0 … 1.0.
        case unorm = 1
        /// IEEE 754 numbers, half or single precision.
        case float = 2
    }

    /// The meaning of the alpha channel.
    public enum Alpha: UInt8, Sendable, Hashable {
        /// The format has no alpha channel.
        case none = 0
        /// The colors are independent of alpha.
        case straight = 1
        /// The colors are multiplied by alpha.
        case premultiplied = 2
        /// The format has an alpha channel in which every sample is fully opaque.
        case opaque = 3
    }

    /// The channels in memory order.
    public var channels: Channels
    /// The kind of a sample.
    public var numeric: Numeric
    /// The number of bits of one sample in memory: 8, 16 or 32.
    public var bits: Int
    /// The meaning of the alpha channel.
    public var alpha: Alpha

    /// Creates a format; replaces an alpha mode that does not fit the channels by one that does.
    public init(_ channels: Channels, bits: Int = 8, numeric: Numeric = .unorm, alpha: Alpha? = nil) {
        self.channels = channels
        self.numeric = numeric
        self.bits = bits
        if channels.hasAlpha {
            self.alpha = alpha == nil || alpha == Alpha.none ? .straight : alpha!
        } else {
            self.alpha = .none
        }
    }

    /// 8-bit gray.
    public static let gray8 = PixelFormat(.gray)
    /// 8-bit gray with straight alpha.
    package static let grayAlpha8 = PixelFormat(.grayAlpha)
    /// 8-bit RGB.
    public static let rgb8 = PixelFormat(.rgb)
    /// 8-bit RGBA with straight alpha.
    public static let rgba8 = PixelFormat(.rgba)
    /// 8-bit BGRA with straight alpha.
    public static let bgra8 = PixelFormat(.bgra)
    /// 8-bit CMYK.
    package static let cmyk8 = PixelFormat(.cmyk)
    /// 16-bit gray.
    package static let gray16 = PixelFormat(.gray, bits: 16)
    /// 16-bit gray with straight alpha.
    package static let grayAlpha16 = PixelFormat(.grayAlpha, bits: 16)
    /// 16-bit RGB.
    public static let rgb16 = PixelFormat(.rgb, bits: 16)
    /// 16-bit RGBA with straight alpha.
    public static let rgba16 = PixelFormat(.rgba, bits: 16)

    /// Whether the combination is valid: 8 and 16 bit integers, half and single floats.
    @inlinable package var isValid: Bool {
        switch numeric {
        case .unorm: bits == 8 || bits == 16
        case .float: bits == 16 || bits == 32
        }
    }

    /// The number of bytes in one sample.
    @inlinable package var bytesPerSample: Int { bits / 8 }
    /// The number of bytes in one pixel.
    public var bytesPerPixel: Int { channels.count * bytesPerSample }
    /// Whether pixels can be transparent.
    @inlinable package var hasTransparency: Bool { alpha == .straight || alpha == .premultiplied }

    /// Returns the number of bytes in one row without padding; nil if it does not fit in an `Int`.
    @inlinable package func bytesPerRow(width: Int) -> Int? {
        let (bytes, overflow) = width.multipliedReportingOverflow(by: bytesPerPixel)
        return overflow || width < 0 ? nil : bytes
    }

    /// The name of the format, for example `rgba16`, `rgb-float32` or `rgba8-premultiplied`.
    public var description: String {
        let kind = numeric == .float ? "-float" : ""
        let mode =
            switch alpha {
            case .none, .straight: ""
            case .premultiplied: "-premultiplied"
            case .opaque: "-opaque"
            }
        return "\(channels)\(kind)\(bits)\(mode)"
    }
}
