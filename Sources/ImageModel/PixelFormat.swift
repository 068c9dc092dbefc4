/// How one pixel is stored: channels in memory order, kind and depth of a sample, meaning of alpha.
///
/// - Shape: samples are interleaved; samples of more than 8 bits are native endian.
public struct PixelFormat: Sendable, Hashable, CustomStringConvertible {
    public enum Channels: UInt8, Sendable, Hashable, CaseIterable {
        case gray = 1
        case grayAlpha = 2
        case rgb = 3
        case rgba = 4
        case bgra = 5
        case cmyk = 6

        /// Samples in one pixel.
        public var count: Int {
            switch self {
            case .gray: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgba, .bgra, .cmyk: 4
            }
        }

        public var hasAlpha: Bool { self == .grayAlpha || self == .rgba || self == .bgra }
    }

    public enum Numeric: UInt8, Sendable, Hashable {
        /// 0 … 2ⁿ − 1 stands for 0.0 … 1.0.
        case unorm = 1
        /// IEEE 754, half or single.
        case float = 2
    }

    public enum Alpha: UInt8, Sendable, Hashable {
        /// There is no alpha channel.
        case none = 0
        case straight = 1
        case premultiplied = 2
        /// There is an alpha channel and every sample of it is full.
        case opaque = 3
    }

    public var channels: Channels
    public var numeric: Numeric
    /// Bits of one sample in memory: 8, 16 or 32.
    public var bits: Int
    public var alpha: Alpha

    /// Describes a format; an alpha mode that does not fit the channels is replaced by the one that does.
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

    public static let gray8 = PixelFormat(.gray)
    public static let grayAlpha8 = PixelFormat(.grayAlpha)
    public static let rgb8 = PixelFormat(.rgb)
    public static let rgba8 = PixelFormat(.rgba)
    public static let bgra8 = PixelFormat(.bgra)
    public static let cmyk8 = PixelFormat(.cmyk)
    public static let gray16 = PixelFormat(.gray, bits: 16)
    public static let grayAlpha16 = PixelFormat(.grayAlpha, bits: 16)
    public static let rgb16 = PixelFormat(.rgb, bits: 16)
    public static let rgba16 = PixelFormat(.rgba, bits: 16)

    /// Whether the combination can exist: 8 and 16 bit integers, half and single floats.
    public var isValid: Bool {
        switch numeric {
        case .unorm: bits == 8 || bits == 16
        case .float: bits == 16 || bits == 32
        }
    }

    public var bytesPerSample: Int { bits / 8 }
    public var bytesPerPixel: Int { channels.count * bytesPerSample }
    /// Whether alpha can be other than full.
    public var hasTransparency: Bool { alpha == .straight || alpha == .premultiplied }

    /// The bytes of one row without padding; nil when it does not fit an `Int`.
    public func bytesPerRow(width: Int) -> Int? {
        let (bytes, overflow) = width.multipliedReportingOverflow(by: bytesPerPixel)
        return overflow || width < 0 ? nil : bytes
    }

    /// For example `rgba16`, `rgb-float32` or `rgba8-premultiplied`.
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
