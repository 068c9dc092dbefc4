public import ImageModel
public import ImageProcessing

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
        let source = pixels.format
        var format = source.channels == .cmyk ? PixelFormat(.rgb, bits: source.bits) : source
        if let bits, format.bits > bits, format.numeric == .unorm {
            format = PixelFormat(format.channels, bits: bits, alpha: format.alpha)
        }
        let transform = try ColorTransformCache.shared.transform(from: colorProfile, source, to: target, format)
        if let warning = transform.warning, !warnings.contains(warning) { warnings.append(warning) }
        pixels = try transform.convert(pixels)
        metadata.removeAll { $0.kind == .icc }
        info.nativeFormat = pixels.format
        info.bitDepth = min(info.bitDepth, pixels.format.bits)
        info.color = ColorDescription()
        let isGray = pixels.format.channels == .gray || pixels.format.channels == .grayAlpha
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
