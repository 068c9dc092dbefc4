import ImageModel
import ImageProcessing

/// The conversion of every frame before it is displayed.
struct FrameShape: Sendable {
    /// The final size of a frame.
    let size: PixelSize
    /// The final format of a composited frame.
    let format: PixelFormat
    /// Whether colors are converted to sRGB.
    var makesSRGB: Bool { profile != nil }
    /// Whether frames are turned upright.
    let isUpright: Bool
    /// The size for resampling, before the orientation is applied.
    private let target: PixelSize
    private let pending: Orientation
    private let resampling: Resampling
    private let profile: ColorProfile?
    private let transformer: (any ImageTransformer)?

    /// Creates a shape that keeps frames as they are stored.
    init(_ info: ImageInfo) { self.init(info, DecodeOptions(), nil, frameCount: 1) }

    init(
        _ info: ImageInfo, _ options: DecodeOptions, _ transformer: (any ImageTransformer)?,
        metadata: [MetadataBlob] = [], frameCount: Int
    ) {
        let pending = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        // Frames are composited with alpha, in any stored format.
        let format: PixelFormat = info.nativeFormat.bits > 8 ? .rgba16 : .rgba8
        let upright = options.targetSize(for: pending.applied(to: info.size), format, frameCount: frameCount)
        target = pending.swapsSides ? upright.transposed : upright
        isUpright = options.appliesOrientation
        self.pending = options.appliesOrientation ? pending : .up
        resampling = options.resampling
        profile = options.makesSRGB ? ColorProfile(of: info, metadata: metadata) : nil
        self.format =
            options.dynamicRange == .standard ? .rgba8 : format
        self.transformer = transformer
        let size = isUpright ? upright : target
        self.size = transformer?.outputSize(for: size) ?? size
    }

    /// Converts a frame; returns the same buffer if no conversion is needed.
    func apply(to pixels: PixelBuffer) throws(CoderError) -> PixelBuffer {
        var pixels = pixels
        if pixels.size != target { pixels = try Resampler.resample(BufferRows(pixels), to: target, resampling) }
        if let profile {
            let transform = try ColorTransformCache.shared.transform(
                from: profile, pixels.format, to: .sRGB, target(for: pixels.format))
            pixels = try transform.convert(pixels)
        }
        pixels = try PixelConverter.upright(pixels, pending)
        return try transformer?.transform(pixels) ?? pixels
    }

    /// Returns the format of a frame after color conversion; a still keeps its channels.
    private func target(for source: PixelFormat) -> PixelFormat {
        let channels = source.channels == .cmyk ? PixelFormat.Channels.rgb : source.channels
        return PixelFormat(channels, bits: min(source.bits, format.bits), alpha: source.alpha)
    }
}
