public import ImageModel
public import ImageProcessing

/// A conversion of colors: of pixels, and of the properties and metadata that describe them.
struct ColorStep: Sendable {
    let source: ColorProfile
    let target: ColorProfile
    /// Whether to add the target's profile to the metadata.
    var embeds = false
    /// The maximum bits per sample; nil keeps them.
    var bits: Int?

    /// Returns the format of converted pixels; gray and alpha are kept, and CMYK becomes RGB.
    private func format(of source: PixelFormat) -> PixelFormat {
        let format = source.channels == .cmyk ? PixelFormat(.rgb, bits: source.bits) : source
        guard let bits, format.bits > bits, format.numeric == .unorm else { return format }
        return PixelFormat(format.channels, bits: bits, alpha: format.alpha)
    }

    /// Returns converted pixels, and the reason if the source's profile could not be used.
    func convert(_ pixels: PixelBuffer) throws(CoderError) -> (PixelBuffer, warning: String?) {
        let transform = try transform(of: pixels.format)
        return (try transform.convert(pixels), transform.warning)
    }

    /// Returns converted rows, and the reason if the source's profile could not be used.
    func convert(_ rows: any RowSource) throws(CoderError) -> (any RowSource, warning: String?) {
        let transform = try transform(of: rows.format)
        return (try rows.converted(by: transform), transform.warning)
    }

    private func transform(of pixels: PixelFormat) throws(CoderError) -> ColorTransform {
        try ColorTransformCache.shared.transform(from: source, pixels, to: target, format(of: pixels))
    }

    /// Updates the properties and metadata of an image for converted pixels.
    func describe(_ info: inout ImageInfo, _ metadata: inout [MetadataBlob], _ format: PixelFormat) {
        metadata.removeAll { $0.kind == .icc }
        for index in metadata.indices where metadata[index].kind == .exif {
            metadata[index].bytes = ExifColorSpace.replacing(metadata[index].bytes, isSRGB: target == .sRGB)
        }
        info.nativeFormat = format
        info.bitDepth = min(info.bitDepth, format.bits)
        info.color = ColorDescription()
        let isGray = format.channels == .gray || format.channels == .grayAlpha
        if embeds, let bytes = target.iccBytes(isGray: isGray) {
            metadata.append(MetadataBlob(.icc, bytes))
            info.color.hasProfile = true
        } else if case .codePoints(let points) = target {
            info.color.codePoints = points
        } else {
            info.color.codePoints = .sRGB
        }
    }
}

extension DecodedImage {
    /// The color space of the pixel values.
    package var colorProfile: ColorProfile { ColorProfile(of: info, metadata: metadata) }

    /// Converts the colors to another space, and updates properties and metadata.
    ///
    /// An unusable profile is ignored with a warning, and the pixels count as sRGB. CMYK becomes RGB; gray and alpha
    /// are kept.
    /// - Parameters:
    ///   - embeds: whether to add the new profile to the metadata. If false, only sRGB is possible, stated as code
    ///     points.
    ///   - bits: the bits per sample; nil keeps them.
    /// - Throws: `.unsupportedFeature` for impossible conversions, such as sRGB to PQ.
    public mutating func convertColors(
        to target: ColorProfile, embeds: Bool = false, bits: Int? = nil
    ) throws(CoderError) {
        let step = ColorStep(source: colorProfile, target: target, embeds: embeds, bits: bits)
        let warning: String?
        (pixels, warning) = try step.convert(pixels)
        if let warning, !warnings.contains(warning) { warnings.append(warning) }
        step.describe(&info, &metadata, pixels.format)
    }
}
