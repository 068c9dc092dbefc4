import ImageModel
import ImageProcessing

/// What becomes of every frame of an animation before it is seen.
struct FrameShape: Sendable {
    /// The size of a frame in the end.
    let size: PixelSize
    /// The format of a composited frame in the end.
    let format: PixelFormat
    /// Whether colours are made sRGB.
    var makesSRGB: Bool { profile != nil }
    /// Whether frames come out upright.
    let isUpright: Bool
    /// What they are resampled to, as stored.
    private let target: PixelSize
    private let pending: Orientation
    private let resampling: Resampling
    private let profile: ColorProfile?
    private let transformer: (any ImageTransformer)?

    /// Frames as they are stored.
    init(_ info: ImageInfo) { self.init(info, DecodeOptions(), nil, frameCount: 1) }

    init(
        _ info: ImageInfo, _ options: DecodeOptions, _ transformer: (any ImageTransformer)?,
        metadata: [MetadataBlob] = [], frameCount: Int
    ) {
        let pending = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        // Frames are composited with alpha, whatever they are stored as.
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

    /// The frame as it is to be seen; the same buffer where nothing is done to it.
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

    /// The format of a frame in other colours: a still keeps its channels.
    private func target(for source: PixelFormat) -> PixelFormat {
        let channels = source.channels == .cmyk ? PixelFormat.Channels.rgb : source.channels
        return PixelFormat(channels, bits: min(source.bits, format.bits), alpha: source.alpha)
    }
}
