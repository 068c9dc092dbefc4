internal import ImageModel

/// The ranges of L*, a* and b*: a sample of 0 means `-offset × range / (2ⁿ - 1)`.
struct LabRange: Equatable {
    var ranges: [Double] = [100, 170, 200]
    /// nil: the offsets that depend on the number of bits.
    var offsets: [Double]?

    /// The offset of a channel.
    func offset(_ channel: Int, bits: Int) -> Double {
        if let offsets { return offsets[channel] }
        let half = Double(UInt64(1) << (bits - 1))
        return channel == 0 ? 0 : channel == 1 ? half : half * 0.75
    }
}

/// The colors that a header box describes.
///
/// - Source: ISO/IEC 15444-1 section I.5.3.3; 15444-2 section M.11.7.
struct ColorSpace {
    enum Kind: Equatable {
        case gray, rgb, cmyk, lumaChroma
        case lab(LabRange)
        /// The number of channels decides; with a warning.
        case unknown(String?)
    }

    var kind: Kind
    private(set) var codePoints: CodePoints?
    private(set) var profile: [UInt8]?
    /// Whether the file states no colors.
    private(set) var isUnstated = false

    init(_ colors: ImageHeader.Colors?, channelCount: Int) {
        switch colors {
        case nil:
            (kind, isUnstated) = (.unknown(nil), true)
        case .profile(let bytes):
            kind = Self.kind(ofProfile: bytes)
            if case .unknown = kind { return }
            if channelCount >= (colorCount ?? 1) {
                profile = bytes
            } else {
                kind = .unknown("the ICC profile has another number of colors than the image; it is left out")
            }
        case .numbered(let number, let parameters): (kind, codePoints) = Self.numbered(number, parameters)
        }
    }

    /// The number of colors; nil if the channels decide.
    var colorCount: Int? {
        switch kind {
        case .gray: 1
        case .rgb, .lumaChroma, .lab: 3
        case .cmyk: 4
        case .unknown: nil
        }
    }

    var isLab: Bool {
        if case .lab = kind { true } else { false }
    }

    /// The data color space of a profile, at byte 16.
    private static func kind(ofProfile bytes: [UInt8]) -> Kind {
        guard bytes.count >= 128 else { return .unknown("the ICC profile is damaged; it is left out") }
        switch String(decoding: bytes[16..<20], as: UTF8.self) {
        case "GRAY": return .gray
        case "RGB ": return .rgb
        case "CMYK": return .cmyk
        default: return .unknown("the ICC profile has other colors than the image; it is left out")
        }
    }

    private static func numbered(_ number: Int, _ parameters: [UInt8]) -> (Kind, CodePoints?) {
        switch number {
        case 16: return (.rgb, .sRGB)
        case 0, 15, 17: return (.gray, .sRGB)
        case 1: return (.lumaChroma, CodePoints(primaries: 1, transfer: 1, matrix: 0, isFullRange: true))
        case 3, 4, 18, 24: return (.lumaChroma, .sRGB)
        case 12: return (.cmyk, nil)
        case 14: return (.lab(lab(parameters)), CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true))
        case 20: return (.rgb, .sRGB)
        default: return (.unknown("the color space \(number) is not known; colors are decoded as stored"), nil)
        }
    }

    /// Six numbers: range and offset of each channel.
    private static func lab(_ parameters: [UInt8]) -> LabRange {
        guard parameters.count >= 24 else { return LabRange() }
        let numbers = stride(from: 0, to: 24, by: 4).map { start in
            Double(parameters[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        guard numbers[0] > 0, numbers[2] > 0, numbers[4] > 0 else { return LabRange() }
        return LabRange(
            ranges: [numbers[0], numbers[2], numbers[4]], offsets: [numbers[1], numbers[3], numbers[5]])
    }
}
