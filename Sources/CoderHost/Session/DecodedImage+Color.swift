public import ImageModel
public import ImageProcessing

extension DecodedImage {
    /// What the numbers of the pixels mean.
    public var colorProfile: ColorProfile { ColorProfile(of: info, metadata: metadata) }

    /// Makes the colours those of another space, and the facts and metadata fit them.
    ///
    /// What a profile says that cannot be used is left aside with a warning, and the pixels count as sRGB. Inks become
    /// RGB; gray stays gray; alpha stays.
    /// - Parameters:
    ///   - embeds: whether the new profile goes into the metadata; otherwise sRGB is named by its code points, and
    ///     nothing else can be.
    ///   - bits: of a sample; nil leaves them as they are.
    /// - Throws: `.unsupportedFeature` for colours that cannot be made, such as PQ out of sRGB.
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
