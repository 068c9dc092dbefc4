package import ImageModel
import ImageProcessing

/// What becomes of decoded pixels: crop, resize, turn upright, crop or pad to the box, convert colors, transform.
///
/// Stills, frames of animations, truncated images and rows share it, so a decode option is applied here alone.
package struct ImageShape: Sendable {
    /// The size of the stored image.
    let stored: PixelSize
    /// The part of the stored image to keep; nil for all of it.
    let part: PixelRect?
    /// The size to which it is resized before it is turned upright.
    package let reduced: PixelSize
    /// Whether the result is upright.
    var isUpright: Bool { options.appliesOrientation }
    let turn: Orientation
    /// The size of the result before the transformer, after crop or padding.
    package let boxSize: PixelSize
    let colors: ColorStep?
    /// The options and the steps after them.
    package let options: DecodeOptions
    /// The warning if the region was cut at the edge of the image.
    let warning: String?
    package let finish: ImageFinish

    /// Plans the steps for one image.
    ///
    /// - Parameters:
    ///   - format: the format of the decoded pixels.
    ///   - metadata: metadata with the color profile, if colors are converted.
    ///   - frameCount: the number of frames that share a byte limit.
    /// - Throws: `.invalidArgument` for a region outside the image.
    init(
        _ info: ImageInfo, _ options: DecodeOptions, _ finish: ImageFinish = ImageFinish(), format: PixelFormat,
        metadata: [MetadataBlob] = [], frameCount: Int = 1
    ) throws(CoderError) {
        let pending = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        let whole = pending.applied(to: info.size)
        var upright = whole
        if let region = options.part?.rect(in: whole, options.cropPosition.gravity ?? .center) {
            let inside = region.intersection(PixelRect(whole))
            guard !inside.isEmpty else {
                throw .invalidArgument("the region \(region) is outside the image of \(whole) pixels")
            }
            upright = inside.size
            warning = options.part?.excess(over: inside.size).map {
                "the region \($0) exceeds the image of \(whole) pixels: \(upright) pixels of it are inside"
            }
            part = inside.size == whole ? nil : pending.source(of: inside, in: info.size)
        } else {
            (part, warning) = (nil, nil)
        }
        let layout = options.size.layout(of: upright, format, frameCount: frameCount, isScalable: info.isScalable)
        stored = info.size
        reduced = pending.swapsSides ? layout.scaled.transposed : layout.scaled
        turn = options.appliesOrientation ? pending : .up
        // Without orientation, the box is turned instead of the image.
        boxSize = pending.swapsSides && !options.appliesOrientation ? layout.result.transposed : layout.result
        self.options = options
        self.finish = finish
        colors = Self.colors(info, options, finish, metadata)
    }

    private static func colors(
        _ info: ImageInfo, _ options: DecodeOptions, _ finish: ImageFinish, _ metadata: [MetadataBlob]
    ) -> ColorStep? {
        if finish.colors == nil, options.colors == .stored { return nil }
        let source = ColorProfile(of: info, metadata: metadata)
        if let (profile, embeds) = finish.colors { return ColorStep(source: source, target: profile, embeds: embeds) }
        return ColorStep(source: source, target: .sRGB, bits: options.colors == .standardRange ? 8 : nil)
    }

    // MARK: Results

    /// The size of the result.
    package var size: PixelSize { finish.transformer?.outputSize(for: boxSize) ?? boxSize }

    /// Whether the first frame decides which part of all frames is kept.
    var isCroppedByContent: Bool {
        guard case .box(_, .cover, _) = options.size else { return false }
        return options.cropPosition.gravity == nil && turn.applied(to: reduced) != boxSize
    }

    /// All sizes that take memory.
    var sizes: [PixelSize] { [reduced, boxSize, size] }

    /// Whether pixels change other than by a new size.
    package var hasSteps: Bool {
        part != nil || turn != .up || colors != nil || !finish.isEmpty || (turn.applied(to: reduced)) != boxSize
    }

    /// Shapes pixels of the whole image, of its part, or of a reduced image; returns the same buffer if nothing changes.
    ///
    /// - Parameter notes: the crop position that frames share, and warnings.
    func apply(to pixels: PixelBuffer, _ notes: inout ShapeNotes) throws(CoderError) -> PixelBuffer {
        var pixels = pixels
        if let part, pixels.size == stored { pixels = try PixelConverter.cropped(pixels, to: part) }
        if pixels.size != reduced {
            pixels = try Resampler.resample(BufferRows(pixels), to: reduced, options.resampling)
        }
        pixels = try PixelConverter.upright(pixels, turn)
        pixels = try boxed(pixels, &notes)
        if let colors {
            let warning: String?
            (pixels, warning) = try colors.convert(pixels)
            if let warning { notes.warn(warning) }
        }
        if let transformer = finish.transformer { pixels = try transformer.transform(pixels) }
        if let color = finish.background, color.alpha == 255, pixels.format.hasTransparency {
            pixels = try PixelConverter.convert(pixels, to: pixels.format.opaque, background: color)
        }
        return pixels
    }

    /// The size of the pixels before all steps: of the image, or of its part.
    package var decodedSize: PixelSize { part?.size ?? stored }

    private func boxed(_ pixels: PixelBuffer, _ notes: inout ShapeNotes) throws(CoderError) -> PixelBuffer {
        if pixels.size == boxSize { return pixels }
        if isPadded { return try padded(pixels) }
        // A window of other frames counts only if it is one of this shape.
        let known = notes.window.flatMap { $0.size == boxSize && PixelRect(pixels.size).contains($0) ? $0 : nil }
        let window = if let known { known } else { try options.cropPosition.window(in: pixels, size: boxSize) }
        notes.window = window
        return try PixelConverter.cropped(pixels, to: window)
    }

    var isPadded: Bool { if case .box(_, .contain, _) = options.size { true } else { false } }

    /// Places the image in a box, on the background color or on transparent pixels.
    private func padded(_ pixels: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let hasColor = finish.background.map { $0.alpha == 255 } ?? false
        let channels: PixelFormat.Channels = hasColor && !pixels.format.hasTransparency ? .rgb : .rgba
        let converted = try PixelConverter.convert(
            pixels, to: PixelFormat(channels, bits: min(16, pixels.format.bits)))
        let place = (options.cropPosition.gravity ?? .center).place(pixels.size, in: boxSize)
        return try PixelConverter.placed(converted, in: boxSize, at: place, on: finish.background ?? .clear)
    }

    /// Updates the properties and metadata of the stored image for shaped pixels.
    func describe(
        _ info: inout ImageInfo, _ metadata: inout [MetadataBlob], _ size: PixelSize, _ format: PixelFormat
    ) {
        if hasSteps || size != stored {
            metadata = metadata.withoutThumbnails
            info.hasItems = false
            let isMadeClear = isPadded || finish.transformer != nil
            info.hasAlpha = format.hasTransparency && (info.hasAlpha || isMadeClear)
        }
        info.size = size
        info.nativeFormat = format
        info.decodesRows = false
        colors?.describe(&info, &metadata, format)
        if isUpright {
            info.orientation = .up
            info.orientationApplied = true
            metadata = metadata.map(\.upright)
        }
    }
}

/// What one frame leaves for the next ones and for the caller.
package struct ShapeNotes {
    /// The crop that was chosen by the content of the first frame.
    var window: PixelRect?
    private(set) var warnings: [String] = []

    /// Creates notes before the first frame.
    package init() {}

    mutating func warn(_ text: String) {
        if !warnings.contains(text) { warnings.append(text) }
    }
}

extension PixelFormat {
    /// The same format without alpha.
    var opaque: PixelFormat {
        PixelFormat(channels == .grayAlpha ? .gray : .rgb, bits: bits, numeric: numeric)
    }
}
