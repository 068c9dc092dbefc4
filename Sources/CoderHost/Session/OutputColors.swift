import ImageModel
import ImageProcessing
import PluginRuntime

/// Decides whether an output describes the colors of an image. If not, they become sRGB: viewers take values without a
/// description for sRGB.
struct OutputColors {
    private let colors: ColorProfile
    /// The format of the pixels, and the one that is written.
    private let native, format: PixelFormat
    private let carries: Set<String>

    /// - Parameter facts: the properties of the image, with the format of its pixels.
    init(_ facts: ImageInfo, _ metadata: [MetadataBlob], becoming format: PixelFormat, _ coder: CoderDescriptor) {
        colors = ColorProfile(of: facts, metadata: metadata)
        native = facts.nativeFormat
        self.format = format
        carries = coder.output.carries
    }

    /// Returns the colors to convert to sRGB, with a warning; nil if they stay as stored.
    func toConvert(_ range: DynamicRange, _ context: SessionContext) -> ColorProfile? {
        if colors.isHighDynamicRange, range == .standard { return colors }
        // Inks have no stored values in a format without inks.
        if isDescribed || range == .kept && !losesInks { return nil }
        let remedy = losesInks ? "" : "; --dynamic-range keep keeps the stored values"
        if colors.isHighDynamicRange {
            context.warn(
                "the format cannot store the high dynamic range of \(colors): it is tone mapped to sRGB" + remedy)
            return colors
        }
        guard differsFromSRGB(context) else { return nil }
        context.warn("\(problem): the colors are converted to sRGB" + remedy)
        return colors
    }

    /// Whether CMYK becomes RGB or gray.
    private var losesInks: Bool { native.channels == .cmyk && format.channels != .cmyk }

    /// Whether the output has a place for the description, or needs none.
    private var isDescribed: Bool {
        switch colors {
        case .assumed, .sRGB: return true
        case .icc(let bytes): return carries.contains("icc") && format.fits(profile: bytes)
        case .codePoints where carries.contains("code-points"): return true
        case .calibrated where carries.contains("gamma"): return true
        case .codePoints, .calibrated:
            let isGray = [.gray, .grayAlpha].contains(format.channels)
            return carries.contains("icc") && colors.iccBytes(isGray: isGray) != nil
        }
    }

    private var problem: String {
        guard case .icc(let bytes) = colors else { return "the format cannot store the color space \(colors)" }
        if !losesInks, !carries.contains("icc") { return "the format cannot store the color profile" }
        return "the \(ProfileHeader.modelName(of: bytes) ?? "color") profile does not fit the written pixels"
    }

    /// Whether a usable description changes the pixels.
    private func differsFromSRGB(_ context: SessionContext) -> Bool {
        let target = native.channels == .cmyk ? PixelFormat(.rgb, bits: native.bits) : native
        do throws(CoderError) {
            let transform = try ColorTransformCache.shared.transform(from: colors, native, to: .sRGB, target)
            if losesInks, let warning = transform.warning { context.warn(warning) }
            return transform.warning == nil && transform.changesColors
        } catch {
            if losesInks { context.warn("the CMYK profile is not used: \(error.message)") }
            return false
        }
    }
}

/// The data color space of ICC profiles.
enum ProfileHeader {
    /// Returns the four letters of the color space without spaces; nil for data without a header.
    ///
    /// - Source: ICC.1, profile header, bytes 16 … 19.
    static func modelName(of profile: [UInt8]) -> String? {
        guard profile.count >= 128 else { return nil }
        return String(decoding: profile[16..<20], as: UTF8.self).filter { !$0.isWhitespace }
    }
}

extension PixelFormat {
    /// Whether a profile is for these channels; true for data without a header.
    func fits(profile: [UInt8]) -> Bool {
        let name = ProfileHeader.modelName(of: profile)
        return switch channels {
        case .gray, .grayAlpha: name == nil || name == "GRAY"
        case .cmyk: name == nil || name == "CMYK"
        case .rgb, .rgba, .bgra: name == nil || name == "RGB"
        }
    }
}
