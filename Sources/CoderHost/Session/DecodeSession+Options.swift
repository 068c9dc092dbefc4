public import ImageModel
import ImageProcessing
import PluginRuntime

extension DecodeSession {
    /// Decodes a still, or the first frame of an animation, with options.
    ///
    /// If the coder supports it, a smaller image is decoded at reduced size, a part without the rest, and either in
    /// bands instead of as a whole.
    /// - Throws: the errors of ``decodeImage(preferring:)``; `.invalidArgument` for a region outside the image.
    public func decodeImage(_ options: DecodeOptions) throws(CoderError) -> DecodedImage {
        try decodeImage(try shape(options))
    }

    /// Decodes the composited frame `index` with options.
    ///
    /// - Parameter frameCount: the number of frames that share a byte limit; by default the image's own count, if
    ///   known.
    package func decodeFrame(_ index: Int, _ options: DecodeOptions, frameCount: Int? = nil) throws(CoderError)
        -> DecodedImage
    {
        try decodeFrame(index, try shape(options, frameCount: frameCount ?? info.frameCount ?? 1))
    }

    /// Shapes a truncated image with options; `pixels` are from ``decodeAvailable(preferring:)``.
    package func reduced(_ pixels: PixelBuffer, _ options: DecodeOptions) throws(CoderError) -> DecodedImage {
        try shaped(pixels, try shape(options))
    }

    // MARK: Shaping

    /// Plans the steps from the stored image to the requested one, and checks the limits for their sizes.
    package func shape(
        _ options: DecodeOptions, _ finish: ImageFinish = ImageFinish(), frameCount: Int = 1
    ) throws(CoderError) -> ImageShape {
        let needsProfile = options.colors != .stored || finish.colors != nil
        let shape = try ImageShape(
            info, options, finish, format: info.nativeFormat, metadata: needsProfile ? try settledMetadata() : [],
            frameCount: frameCount)
        if let warning = shape.warning { context.warn(warning) }
        let format = info.nativeFormat.bytesPerPixel < 4 ? PixelFormat.rgba8 : info.nativeFormat
        for size in shape.sizes where size != info.size {
            try LimitCheck.examine(made: size, format, context.limits)
        }
        return shape
    }

    /// Decodes a still, or the first frame of an animation.
    package func decodeImage(_ shape: ImageShape) throws(CoderError) -> DecodedImage {
        let pixels =
            if let part = shape.part {
                try Self.retryOnce { () throws(CoderError) in try decode(stored: part) }
            } else if shape.reduced == info.size {
                try decodeImage()
            } else {
                try decodeImage(reducedTo: shape.reduced, shape.options)
            }
        return try shaped(pixels, shape)
    }

    /// Decodes the composited frame `index`.
    package func decodeFrame(_ index: Int, _ shape: ImageShape) throws(CoderError) -> DecodedImage {
        try shaped(try decodeFrame(index).pixels, shape, &shapeNotes)
    }

    /// Shapes decoded pixels, and describes them as an image.
    package func shaped(_ pixels: PixelBuffer, _ shape: ImageShape) throws(CoderError) -> DecodedImage {
        // Another image or preview of the session decides nothing for this one.
        var notes = ShapeNotes()
        return try shaped(pixels, shape, &notes)
    }

    /// Shapes the pixels of one of several frames.
    ///
    /// - Parameter notes: what earlier frames of the same output have decided.
    package func shaped(
        _ pixels: PixelBuffer, _ shape: ImageShape, _ notes: inout ShapeNotes
    ) throws(CoderError) -> DecodedImage {
        var image = DecodedImage(
            info: info, pixels: try shape.apply(to: pixels, &notes), metadata: try settledMetadata(),
            format: format, coder: coder.id)
        for warning in notes.warnings { context.warn(warning) }
        shape.describe(&image.info, &image.metadata, image.pixels.size, image.pixels.format)
        image.warnings = context.warnings
        return image
    }

    /// Estimates the memory for decoding with these options, rounded up generously.
    ///
    /// The coder's own memory is unknown: it counts as two more images if the coder needs the whole image.
    package func memoryEstimate(_ options: DecodeOptions) -> Int {
        (try? shape(options)).map(memoryEstimate) ?? Int.max / 8
    }

    /// Estimates the memory for decoding and shaping.
    package func memoryEstimate(_ shape: ImageShape) -> Int {
        let made = shape.sizes.filter { $0 != info.size }.reduce(0) { $0 + ($1.area ?? 0) * 4 }
        let full = (try? PixelBuffer.layout(size: info.size, format: info.nativeFormat).byteCount) ?? Int.max / 8
        // An animation needs two canvases and a frame.
        if info.frameCount != 1 { return 3 * full + made }
        if !info.decodesRows && !coder.roles.contains(.scale) { return 3 * full + made }
        // A multi-scan image has as many coefficients as samples, each twice as large.
        return (shape.reduced == info.size ? 2 * full : full) + made
    }

    // MARK: Reduced decoding

    /// Returns the decoding size whose resampled result is within 49 dB of resampling the full image.
    ///
    /// A coder's own reduction is softer or sharper than the filter; the error depends on how much the filter still
    /// reduces. These factors were measured with JPEG reduced by 2, 4 and 8, and with WebP reduced by any number.
    func scaledSize(for target: PixelSize, _ how: Resampling) throws(CoderError) -> PixelSize {
        // Vector graphics have no size of their own.
        if info.isScalable { return try sequence.decoder().scaledSize(atLeast: target) }
        // A coder reduces stored values, which is not linear light.
        guard coder.roles.contains(.scale), !how.linearLight else { return info.size }
        func ask(_ percent: Int) throws(CoderError) -> PixelSize {
            try sequence.decoder().scaledSize(
                atLeast: PixelSize(
                    min(info.size.width, (target.width * percent + 99) / 100),
                    min(info.size.height, (target.height * percent + 99) / 100)))
        }
        let near = try ask(175)
        let factor = Double(info.size.width) / Double(near.width)
        return factor < 4.5 ? near : try ask(factor < 7.5 ? 200 : 220)
    }

    private func decodeImage(reducedTo target: PixelSize, _ options: DecodeOptions) throws(CoderError) -> PixelBuffer {
        try Self.retryOnce { () throws(CoderError) in try reducedImage(target, options) }
    }

    private func reducedImage(_ target: PixelSize, _ options: DecodeOptions) throws(CoderError) -> PixelBuffer {
        if options.usesEmbeddedThumbnail, !options.resampling.linearLight,
            let pixels = try embeddedThumbnail(for: target)
        {
            return pixels.size == target
                ? pixels : try Resampler.resample(BufferRows(pixels), to: target, options.resampling)
        }
        guard try isWhole() else {
            return try Resampler.resample(BufferRows(try decodeImage()), to: target, options.resampling)
        }
        let size = try scaledSize(for: target, options.resampling)
        guard info.decodesRows else {
            let pixels = try pixels(scaledTo: size)
            return size == target
                ? pixels : try Resampler.resample(BufferRows(pixels), to: target, options.resampling)
        }
        let reduction = size == info.size ? nil : size
        return try Resampler.resample(try decodedRows(scaledTo: reduction), to: target, options.resampling)
    }

    /// Decodes a still for several images, at the reduced size that the largest of them needs.
    ///
    /// ``shaped(_:_:)`` makes the images. The largest equals that of ``decodeImage(_:)``; none of the shapes has a part.
    package func decodeImage(forShapesUpTo largest: ImageShape) throws(CoderError) -> PixelBuffer {
        guard try isWhole() else { return try decodeImage() }
        let size = try scaledSize(for: largest.reduced, largest.options.resampling)
        if size == info.size { return try decodeImage() }
        return try Self.retryOnce { () throws(CoderError) in try pixels(scaledTo: size) }
    }

    /// Decodes a still at a size that the coder scales to.
    private func pixels(scaledTo size: PixelSize) throws(CoderError) -> PixelBuffer {
        let format = try pixelFormats()[0]
        try LimitCheck.examine(decoded: size, format, source, context.limits)
        let pixels = try pool.take(size, format, clean: false)
        try sequence.stand(at: 0)
        let request = FrameRequest(scaledSize: size == info.size ? nil : size)
        guard try sequence.decode(CanvasPlace(pixels), request) == .complete else {
            throw source.isComplete ? CoderError.truncated() : .needsInput
        }
        return pixels
    }

    /// Returns an embedded thumbnail that is good enough: large enough that its own losses do not show, and with the
    /// image's aspect ratio.
    ///
    /// A coder that reduces the image itself is about as fast, with better pixels. The thumbnail size stated in a file
    /// is used for nothing else.
    private func embeddedThumbnail(for target: PixelSize) throws(CoderError) -> PixelBuffer? {
        if coder.roles.contains(.scale) || !info.hasItems { return nil }
        do throws(CoderError) {
            var best: (index: Int, size: PixelSize)?
            for (index, facts) in try thumbnails().enumerated() {
                let size = facts.size
                guard size.width * 4 >= target.width * 7, size.height * 4 >= target.height * 7,
                    size.width <= info.size.width, size.height <= info.size.height, size.hasShape(of: info.size)
                else { continue }
                if best.map({ size.width < $0.size.width }) ?? true { best = (index, size) }
            }
            return try best.map { best throws(CoderError) in try decodeThumbnail(best.index) }
        } catch {
            // The image itself may be intact.
            if [.cancelled, .deadlineExceeded].contains(error.code) { throw error }
            context.warn("the embedded thumbnail is damaged: \(error.message)")
            return nil
        }
    }
}

extension PixelSize {
    /// Whether a thumbnail has the same aspect ratio as an image of this size, within rounding.
    func hasShape(of size: PixelSize) -> Bool {
        let (a, b) = (width * size.height, height * size.width)
        return abs(a - b) <= max(size.width, size.height)
    }
}
