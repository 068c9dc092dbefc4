package import CoderHost
package import ImageModel
import ImageProcessing

/// Applies the changes to one image. All frames of an animation are cropped at the same position.
package struct ImageShaper {
    private let changes: ImageChanges
    private let session: DecodeSession
    private let options: DecodeOptions
    /// The sizes before and after cropping or padding.
    private let layout: Fit.Layout
    /// The crop that `attention` or `entropy` found in the first frame.
    private var window: PixelRect?

    package init(_ changes: ImageChanges, _ session: DecodeSession) throws(CoderError) {
        self.changes = changes
        self.session = session
        let upright = session.pendingOrientation.applied(to: session.info.size)
        (layout, options) = try Self.plan(changes, upright, isScalable: session.info.isScalable)
        if changes.isIdentity { return }
        if let part = changes.part, part.intersection(PixelRect(upright)) != part {
            session.context.warn(
                "--crop \(part) exceeds the image of \(upright) pixels: the result has \(layout.result) pixels")
        }
        // The limits apply to requested sizes as well as to decoded ones.
        let native = session.info.nativeFormat
        let format = native.bytesPerPixel < 4 ? .rgba8 : native
        for size in [layout.scaled, layout.result, changes.pipeline.outputSize(for: layout.result)] {
            try LimitCheck.examine(made: size, format, session.context.limits)
        }
    }

    /// Returns the intermediate sizes and the options for the decoder.
    private static func plan(
        _ changes: ImageChanges, _ upright: PixelSize, isScalable: Bool
    ) throws(CoderError) -> (Fit.Layout, DecodeOptions) {
        var options = DecodeOptions()
        // An unmodified image keeps its orientation tag.
        options.appliesOrientation = !changes.isIdentity
        options.resampling = changes.resampling
        options.limitBytes = changes.limitBytes
        var size = upright
        if let part = changes.part {
            let inside = part.intersection(PixelRect(upright))
            if inside.isEmpty {
                throw .invalidArgument("--crop \(part) is outside the image of \(upright) pixels")
            }
            size = inside.size
        }
        let layout = changes.box.map { changes.fit.layout(size, in: $0, mayEnlarge: changes.mayEnlarge || isScalable) }
        options.region = changes.part
        if changes.part == nil, let scaled = layout?.scaled {
            options.thumbnailSize = scaled
            options.preservesAspectRatio = false
        }
        return (layout ?? Fit.Layout(scaled: size, result: size), options)
    }

    /// Decodes the image, or the first frame.
    package mutating func image() throws(CoderError) -> DecodedImage { try shaped(try session.decodeImage(options)) }

    /// Returns the image as rows if only its size changes; nil if it must be in memory completely.
    package func rows() throws(CoderError) -> RowImage? {
        guard changes.isIdentity || changes.isPlain, layout.scaled == layout.result,
            (session.info.size.area ?? 0) >= Self.fromPixels
        else { return nil }
        guard var image = try session.rowImage(options) else { return nil }
        if !changes.isIdentity {
            image.metadata = image.metadata.withoutThumbnails
            image.info.hasItems = false
            image.info.hasAlpha = image.info.nativeFormat.hasTransparency && image.info.hasAlpha
        }
        return image
    }

    /// Images below this number of pixels are decoded completely: they fit into the CPU caches.
    private static let fromPixels = 4 << 20

    /// Shapes the available part of a truncated image.
    package mutating func image(of part: PixelBuffer) throws(CoderError) -> DecodedImage {
        try shaped(cropped(try session.reduced(part, options)))
    }

    /// Applies `--crop` to pixels that the decoder did not crop.
    private func cropped(_ image: DecodedImage) throws(CoderError) -> DecodedImage {
        guard let part = changes.part else { return image }
        var image = image
        image.pixels = try PixelConverter.cropped(image.pixels, to: part.intersection(PixelRect(image.pixels.size)))
        return image
    }

    /// Decodes a composited frame.
    ///
    /// - Parameter count: the number of frames that share the byte limit.
    package mutating func frame(_ index: Int, of count: Int) throws(CoderError) -> DecodedImage {
        try shaped(cropped(try session.decodeFrame(index, options, frameCount: count)))
    }

    /// The expected size of the result. With `--limit-bytes`, it is the size of an image with one frame.
    package var size: PixelSize {
        if changes.isIdentity { return session.info.size }
        let upright = session.pendingOrientation.applied(to: session.info.size)
        let isLimited = changes.limitBytes != nil
        return changes.pipeline.outputSize(
            for: isLimited ? options.targetSize(for: upright, session.info.nativeFormat) : layout.result)
    }

    /// A rough estimate of the memory for decoding, in bytes.
    package var memoryEstimate: Int {
        [layout.scaled, layout.result, changes.pipeline.outputSize(for: layout.result)]
            .reduce(session.memoryEstimate(options)) { $0 + ($1.area ?? 0) * 4 }
    }

    // MARK: Changes after decoding

    private mutating func shaped(_ image: DecodedImage) throws(CoderError) -> DecodedImage {
        if changes.isIdentity { return image }
        var image = image
        if changes.limitBytes == nil { try reshape(&image) }
        if let colors = changes.colors { try image.convertColors(to: colors.profile, embeds: colors.embeds) }
        image.pixels = try changes.pipeline.transform(image.pixels)
        if let background = changes.background, background.alpha == 255, image.pixels.format.hasTransparency {
            image.pixels = try PixelConverter.convert(
                image.pixels, to: image.pixels.format.opaque, background: background)
        }
        image.dropEmbeddedThumbnail()
        image.info.size = image.pixels.size
        image.info.nativeFormat = image.pixels.format
        let isMadeClear = changes.fit == .contain && changes.box != nil || !changes.pipeline.transformers.isEmpty
        image.info.hasAlpha = image.pixels.format.hasTransparency && (image.info.hasAlpha || isMadeClear)
        return image
    }

    private mutating func reshape(_ image: inout DecodedImage) throws(CoderError) {
        if image.pixels.size != layout.scaled {
            image.pixels = try Resampler.resample(BufferRows(image.pixels), to: layout.scaled, changes.resampling)
        }
        if changes.fit == .contain, changes.box != nil {
            image.pixels = try filledUp(image.pixels, to: layout.result)
        } else if layout.result != layout.scaled {
            let chosen =
                if let window { window } else {
                    try changes.position.window(in: image.pixels, size: layout.result)
                }
            window = chosen
            image.pixels = try PixelConverter.cropped(image.pixels, to: chosen)
        }
    }

    /// Centers the image in a box, on the background color or on transparent pixels.
    private func filledUp(_ pixels: PixelBuffer, to size: PixelSize) throws(CoderError) -> PixelBuffer {
        if pixels.size == size { return pixels }
        let hasColor = changes.background.map { $0.alpha == 255 } ?? false
        let channels: PixelFormat.Channels = hasColor && !pixels.format.hasTransparency ? .rgb : .rgba
        let converted = try PixelConverter.convert(
            pixels, to: PixelFormat(channels, bits: min(16, pixels.format.bits)))
        let place = PixelRect(
            x: (size.width - pixels.size.width) / 2, y: (size.height - pixels.size.height) / 2,
            width: pixels.size.width, height: pixels.size.height)
        return try PixelConverter.placed(converted, in: size, at: place, on: changes.background ?? .clear)
    }
}

extension PixelFormat {
    /// The same format without alpha.
    fileprivate var opaque: PixelFormat {
        PixelFormat(channels == .grayAlpha ? .gray : .rgb, bits: bits, numeric: numeric)
    }
}
