package import CoderHost
package import ImageModel
import ImageProcessing

/// The changes to one picture; of an animation every frame is cut in the same place.
package struct PictureShaper {
    private let changes: PictureChanges
    private let session: DecodeSession
    private let options: DecodeOptions
    /// The sizes before and after it is cut or filled up.
    private let layout: Fit.Layout
    /// What `attention` and `entropy` chose in the first frame.
    private var window: PixelRect?

    package init(_ changes: PictureChanges, _ session: DecodeSession) throws(CoderError) {
        self.changes = changes
        self.session = session
        let upright = session.pendingOrientation.applied(to: session.info.size)
        (layout, options) = try Self.plan(changes, upright, isScalable: session.info.isScalable)
        if changes.isIdentity { return }
        if let part = changes.part, part.intersection(PixelRect(upright)) != part {
            session.context.warn(
                "--crop \(part) reaches beyond the image of \(upright) pixels: \(layout.result) pixels are written")
        }
        // Held against the limits like what is read: a switch can ask for anything.
        let native = session.info.nativeFormat
        let format = native.bytesPerPixel < 4 ? .rgba8 : native
        for size in [layout.scaled, layout.result, changes.pipeline.outputSize(for: layout.result)] {
            try LimitCheck.examine(made: size, format, session.context.limits)
        }
    }

    /// The sizes on the way, and what the decoder is asked for.
    private static func plan(
        _ changes: PictureChanges, _ upright: PixelSize, isScalable: Bool
    ) throws(CoderError) -> (Fit.Layout, DecodeOptions) {
        var options = DecodeOptions()
        // What stays as it is keeps its orientation where the format can tell it.
        options.appliesOrientation = !changes.isIdentity
        options.resampling = changes.resampling
        options.limitBytes = changes.limitBytes
        var size = upright
        if let part = changes.part {
            let inside = part.intersection(PixelRect(upright))
            if inside.isEmpty {
                throw .invalidArgument("--crop \(part) is beside the picture, which has \(upright) pixels")
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

    /// The picture, or the first frame.
    package mutating func image() throws(CoderError) -> DecodedImage { try shaped(try session.decodeImage(options)) }

    /// The image in rows, where nothing but its size changes; nil where it has to be in memory as a whole.
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

    /// Smaller images are in memory as a whole: they stay in the caches.
    private static let fromPixels = 4 << 20

    /// What is there of a picture that was cut off.
    package mutating func image(of part: PixelBuffer) throws(CoderError) -> DecodedImage {
        try shaped(cropped(try session.reduced(part, options)))
    }

    /// Cuts out what the decoder was not asked to.
    private func cropped(_ image: DecodedImage) throws(CoderError) -> DecodedImage {
        guard let part = changes.part else { return image }
        var image = image
        image.pixels = try PixelConverter.cropped(image.pixels, to: part.intersection(PixelRect(image.pixels.size)))
        return image
    }

    /// A frame as it is seen.
    ///
    /// - Parameter count: frames that share a number of bytes.
    package mutating func frame(_ index: Int, of count: Int) throws(CoderError) -> DecodedImage {
        try shaped(cropped(try session.decodeFrame(index, options, frameCount: count)))
    }

    /// The size of the result, as far as it is known before; of a number of bytes that of a picture of one frame.
    package var size: PixelSize {
        if changes.isIdentity { return session.info.size }
        let upright = session.pendingOrientation.applied(to: session.info.size)
        let isLimited = changes.limitBytes != nil
        return changes.pipeline.outputSize(
            for: isLimited ? options.targetSize(for: upright, session.info.nativeFormat) : layout.result)
    }

    /// Bytes that decoding may take, roughly.
    package var memoryEstimate: Int {
        [layout.scaled, layout.result, changes.pipeline.outputSize(for: layout.result)]
            .reduce(session.memoryEstimate(options)) { $0 + ($1.area ?? 0) * 4 }
    }

    // MARK: What the decoder has not done

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

    /// The picture in the middle of a box: on the background, or on nothing.
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
    /// The same samples without alpha.
    fileprivate var opaque: PixelFormat {
        PixelFormat(channels == .grayAlpha ? .gray : .rgb, bits: bits, numeric: numeric)
    }
}
