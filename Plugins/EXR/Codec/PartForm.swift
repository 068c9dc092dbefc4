internal import CoderPluginKit
internal import ImageModel
internal import Light

/// How the samples of a part become pixels.
struct PartForm {
    let plan: ChannelPlan
    /// The pixel formats, best first.
    let formats: [PixelFormat]
    /// Whether samples are delivered as stored.
    let keepsFloats: Bool
    /// The number of bytes of a sample between the library and the pixels: 2 for halves, 4 for floats.
    let sampleBytes: Int
    /// Whether some channel has fewer samples than pixels, or colors are luminance and differences.
    let isSubsampled: Bool
    /// Whether each sample of a pixel has a channel of its own.
    let isComplete: Bool
    let colors: PartColors

    /// - Throws: `.unsupported` for a part that cannot be decoded.
    init(_ part: Part, view: String?, keepsFloats: Bool) throws(CoderError) {
        if part.isDeep { throw .unsupported("deep data (part \(part.index))") }
        guard part.compression.isSupported else {
            throw .unsupported("EXR compression \(part.compression.name)")
        }
        guard let plan = ChannelPlan(part.channels, view: view, views: Array(part.names.views.dropFirst())) else {
            throw .unsupported("an EXR part without color channels (part \(part.index))")
        }
        self.plan = plan
        self.keepsFloats = keepsFloats
        let used = plan.used.map { part.channels[$0] }
        isSubsampled = plan.meaning == .luminance || used.contains { $0.sampling != PixelSize(1, 1) }
        if isSubsampled, part.compression.isInBlocks, (1...3).contains(part.data.height % 32) {
            // OpenEXRCore 3.1 decodes such a last chunk of one to three rows wrongly.
            throw .unsupported("EXR compression \(part.compression.name) with fewer samples than pixels")
        }
        let isHalf = !isSubsampled && used.allSatisfy { $0.sample == .half }
        sampleBytes = isHalf ? 2 : 4
        // Pixels beside the data window are transparent.
        let hasAlpha = plan.alpha != nil || !part.data.contains(part.display)
        let channels: PixelFormat.Channels =
            plan.meaning == .gray ? (hasAlpha ? .grayAlpha : .gray) : (hasAlpha ? .rgba : .rgb)
        isComplete = plan.colors.allSatisfy { $0 != nil } && (plan.alpha != nil) == hasAlpha
        formats =
            keepsFloats
            ? [PixelFormat(channels, bits: sampleBytes * 8, numeric: .float, alpha: .premultiplied)]
            : LightSamples.formats(channels)
        colors = PartColors(part.color.chromaticities)
    }

    var channels: PixelFormat.Channels { formats[0].channels }

    /// Whether decoded chunks already have the format of the pixels.
    var isCopy: Bool { keepsFloats && isComplete && !isSubsampled }

    /// The facts of the image at full size.
    func info(_ part: Part, size: PixelSize, hasItems: Bool) -> ImageInfo {
        let used = plan.used.map { part.channels[$0] }
        return ImageInfo(
            size: size, nativeFormat: formats[0], bitDepth: used.contains { $0.sample != .half } ? 32 : 16,
            isLossy: part.compression.isLossy, color: colors.description(isLinear: keepsFloats),
            density: Self.density(part.color), hasItems: hasItems, decodesRows: true, tileSize: part.storage.tile,
            regionCost: .tiles)
    }

    private static func density(_ color: Part.Color) -> PixelDensity? {
        let (aspect, density) = (Double(color.aspect), Double(color.density))
        let isSquare = !(aspect > 0.01 && aspect < 100) || abs(aspect - 1) < 1e-4
        if density > 0, density < 1e6 {
            let across = density / 0.0254
            // The pixels of a row are `aspect` times as wide as high.
            return .perMeter(x: UInt32(across.rounded()), y: UInt32((isSquare ? across : across * aspect).rounded()))
        }
        return isSquare ? nil : .aspect(x: 10_000, y: UInt32((aspect * 10_000).rounded()))
    }
}
