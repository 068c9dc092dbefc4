public import ImageModel

/// The meaning of an image's pixel values.
public enum ColorProfile: Sendable, Hashable {
    /// No description: sRGB, gray with sRGB's curve, or CMYK by the formula of ``PixelConverter``.
    case assumed
    /// sRGB, or gray with its curve.
    case sRGB
    /// H.273 code points; gray images use only the curve.
    case codePoints(CodePoints)
    /// An ICC profile, not yet validated.
    case icc([UInt8])
    /// An exponent with or without primaries.
    case calibrated(CalibratedColor)

    /// Selects the color description of a file.
    ///
    /// The order is that of PNG (3rd edition, 4.3); other formats have fewer of these: preferred code points (cICP in
    /// PNG), the profile, other code points (sRGB in PNG), then gamma with primaries. Unspecified code points are
    /// ignored, and CMYK has no code points.
    package init(of info: ImageInfo, metadata: [MetadataBlob]) {
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

    /// Returns nil if neither primaries nor curve are specified (H.273: 2).
    private init?(points: CodePoints) {
        if points.isUnspecified { return nil }
        self = points.primaries == 1 && points.transfer == 13 ? .sRGB : .codePoints(points)
    }

    /// A short name, for example `assumed sRGB`, `ICC profile of 560 bytes` or `code points 9/16`.
    public var description: String {
        switch self {
        case .assumed: "assumed sRGB"
        case .sRGB: "sRGB"
        case .codePoints(let points): "code points \(points.primaries)/\(points.transfer)"
        case .icc(let bytes): "ICC profile of \(bytes.count) bytes"
        case .calibrated(let color): "gamma \(color.gamma)" + (color.chromaticities == nil ? "" : " with primaries")
        }
    }

    /// Whether the colors can be brighter than screen white, so that no matrix converts them to sRGB.
    package var isHighDynamicRange: Bool {
        switch self {
        case .codePoints(let points): TransferCurve(code: points.transfer)?.isHighDynamicRange ?? false
        case .icc(let bytes):
            ICCHeader.codePoints(in: bytes).flatMap { TransferCurve(code: $0.transfer) }?.isHighDynamicRange ?? false
        case .assumed, .sRGB, .calibrated: false
        }
    }

    /// The primaries and the curve as numbers; nil for an ICC profile and for codes without a defined meaning.
    ///
    /// If only one of the two is unspecified (2), it is replaced by that of sRGB.
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

/// A color space with known primaries and curve.
struct ColorModel: Sendable, Hashable {
    var space: Chromaticities
    var curve: TransferCurve
}
