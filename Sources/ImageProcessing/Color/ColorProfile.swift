public import ImageModel

/// What the numbers of a picture's pixels mean.
public enum ColorProfile: Sendable, Hashable {
    /// Nothing is said: sRGB, gray with sRGB's curve, or inks by the formula of ``PixelConverter``.
    case assumed
    /// sRGB, or gray with its curve.
    case sRGB
    /// Code points of H.273; gray takes the curve alone.
    case codePoints(CodePoints)
    /// An ICC profile, not yet looked at.
    case icc([UInt8])
    /// An exponent with or without primaries.
    case calibrated(CalibratedColor)

    /// What a file says about its pixels.
    ///
    /// Code points where they are preferred (cICP in PNG), then the profile, then code points (sRGB in PNG), then gamma
    /// with primaries; that is the order of PNG (3rd edition, 4.3), and other formats have fewer of them. Unspecified code points say
    /// nothing, and inks have no code points.
    public init(of info: ImageInfo, metadata: [MetadataBlob]) {
        let points = info.nativeFormat.channels == .cmyk ? nil : info.color.codePoints.flatMap(Self.init(points:))
        if let points, info.color.prefersCodePoints {
            self = points
        } else if let profile = metadata.first(where: { $0.kind == .icc }) {
            self = .icc(profile.bytes)
        } else if let points {
            self = points
        } else if info.nativeFormat.channels != .cmyk, let calibrated = CalibratedColor(info.color) {
            self = .calibrated(calibrated)
        } else {
            self = .assumed
        }
    }

    /// Nil where neither primaries nor curve are specified (H.273: 2).
    private init?(points: CodePoints) {
        if points.primaries == 2, points.transfer == 2 { return nil }
        self = points.primaries == 1 && points.transfer == 13 ? .sRGB : .codePoints(points)
    }

    /// For example `assumed sRGB`, `ICC profile of 560 bytes` or `code points 9/16`.
    public var description: String {
        switch self {
        case .assumed: "assumed sRGB"
        case .sRGB: "sRGB"
        case .codePoints(let points): "code points \(points.primaries)/\(points.transfer)"
        case .icc(let bytes): "ICC profile of \(bytes.count) bytes"
        case .calibrated(let color): "gamma \(color.gamma)" + (color.chromaticities == nil ? "" : " with primaries")
        }
    }

    /// Whether it is light above that of a screen, which no matrix can bring to sRGB.
    public var isHighDynamicRange: Bool {
        switch self {
        case .codePoints(let points): TransferCurve(code: points.transfer)?.isHighDynamicRange ?? false
        case .icc(let bytes):
            ICCHeader.codePoints(in: bytes).flatMap { TransferCurve(code: $0.transfer) }?.isHighDynamicRange ?? false
        case .assumed, .sRGB, .calibrated: false
        }
    }

    /// Primaries and curve where they are numbers; nil for an ICC profile and for codes that nobody has given a meaning.
    ///
    /// An unspecified one (2) beside a specified one is sRGB's.
    var model: ColorModel? {
        switch self {
        case .assumed, .sRGB: return ColorModel(space: .bt709, curve: .sRGB)
        case .calibrated(let color): return ColorModel(space: color.space, curve: color.curve)
        case .codePoints(let points):
            guard let space = Chromaticities(code: points.primaries == 2 ? 1 : points.primaries),
                let curve = TransferCurve(code: points.transfer == 2 ? 13 : points.transfer)
            else { return nil }
            return ColorModel(space: space, curve: curve)
        case .icc: return nil
        }
    }
}

extension ColorProfile: CustomStringConvertible {}

/// A space of which primaries and curve are known.
struct ColorModel: Sendable, Hashable {
    var space: Chromaticities
    var curve: TransferCurve
}
