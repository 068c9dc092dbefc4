public import ImageModel
import ImageProcessing
import PluginRuntime

extension DecodeSession {
    /// Decodes a still, or the first frame of an animation, with options.
    ///
    /// If the coder supports it, a smaller image is decoded at reduced size, and in bands instead of as a whole.
    /// - Throws: the errors of ``decodeImage(preferring:)``.
    public func decodeImage(_ options: DecodeOptions) throws(CoderError) -> DecodedImage {
        if let region = options.region { return try decodeImage(region: region, options) }
        let target = storedTarget(options)
        let pixels = target == info.size ? try decodeImage() : try decodeImage(reducedTo: target, options)
        return try finished(pixels, options)
    }

    /// Returns the target size for the stored image, before it is turned upright.
    func storedTarget(_ options: DecodeOptions, of size: PixelSize? = nil) -> PixelSize {
        let pending = pendingOrientation
        let upright = options.targetSize(
            for: pending.applied(to: size ?? info.size), info.nativeFormat, mayEnlarge: info.isScalable)
        return pending.swapsSides ? upright.transposed : upright
    }

    /// Decodes the composited frame `index` with options.
    ///
    /// - Parameter frameCount: the number of frames that share `limitBytes`; by default the image's own count, if
    ///   known.
    public func decodeFrame(_ index: Int, _ options: DecodeOptions, frameCount: Int? = nil) throws(CoderError)
        -> DecodedImage
    {
        let pending = pendingOrientation
        let upright = options.targetSize(
            for: pending.applied(to: info.size), info.nativeFormat, frameCount: frameCount ?? info.frameCount ?? 1)
        let target = pending.swapsSides ? upright.transposed : upright
        var pixels = try decodeFrame(index).pixels
        if target != pixels.size {
            pixels = try Resampler.resample(BufferRows(pixels), to: target, options.resampling)
        }
        return try finished(pixels, options)
    }

    /// Converts a truncated image with options; `pixels` are from ``decodeAvailable(preferring:)``.
    public func reduced(_ pixels: PixelBuffer, _ options: DecodeOptions) throws(CoderError) -> DecodedImage {
        let pending = pendingOrientation
        let upright = options.targetSize(for: pending.applied(to: info.size), info.nativeFormat)
        let target = pending.swapsSides ? upright.transposed : upright
        return try finished(
            target == pixels.size ? pixels : try Resampler.resample(BufferRows(pixels), to: target, options.resampling),
            options)
    }

    /// Estimates the memory for decoding with these options, rounded up generously.
    ///
    /// The coder's own memory is unknown: it counts as two more images if the coder needs the whole image.
    public func memoryEstimate(_ options: DecodeOptions) -> Int {
        let full = (try? PixelBuffer.layout(size: info.size, format: info.nativeFormat).byteCount) ?? Int.max / 8
        // An animation needs two canvases and a frame.
        if info.frameCount != 1 { return 3 * full }
        if !info.decodesRows && !coder.roles.contains(.scale) { return 3 * full }
        let upright = options.targetSize(for: pendingOrientation.applied(to: info.size), info.nativeFormat)
        // A multi-scan image has as many coefficients as samples, each twice as large.
        return upright.area == info.size.area ? 2 * full : full
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
        let reduction = size == info.size ? nil : size
        let format = try pixelFormats()[0]
        guard info.decodesRows else {
            try LimitCheck.examine(made: size, format, context.limits)
            let pixels = try pool.take(size, format, clean: false)
            try sequence.stand(at: 0)
            guard try sequence.decode(CanvasPlace(pixels), FrameRequest(scaledSize: reduction)) == .complete else {
                throw source.isComplete ? CoderError.truncated() : .needsInput
            }
            return size == target
                ? pixels : try Resampler.resample(BufferRows(pixels), to: target, options.resampling)
        }
        return try Resampler.resample(try decodedRows(scaledTo: reduction), to: target, options.resampling)
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

    // MARK: Colors and orientation

    func finished(_ pixels: PixelBuffer, _ options: DecodeOptions) throws(CoderError) -> DecodedImage {
        var image = DecodedImage(
            info: info, pixels: pixels, metadata: try settledMetadata(), format: format, coder: coder.id)
        image.info.size = pixels.size
        image.info.nativeFormat = pixels.format
        image.info.decodesRows = false
        if pixels.size != info.size { image.dropEmbeddedThumbnail() }
        // Convert the image after its size is reduced.
        if options.makesSRGB {
            try image.convertColors(to: .sRGB, bits: options.dynamicRange == .standard ? 8 : nil)
            for warning in image.warnings { context.warn(warning) }
        }
        if options.appliesOrientation { try image.turnUpright() }
        image.warnings = context.warnings
        return image
    }
}

extension PixelSize {
    /// Whether a thumbnail has the same aspect ratio as an image of this size, within rounding.
    fileprivate func hasShape(of size: PixelSize) -> Bool {
        let (a, b) = (width * size.height, height * size.width)
        return abs(a - b) <= max(size.width, size.height)
    }
}

extension DecodedImage {
    /// Removes a thumbnail from the metadata that no longer shows the image.
    package mutating func dropEmbeddedThumbnail() {
        metadata = metadata.withoutThumbnails
        info.hasItems = false
    }

    /// Applies the pending orientation to pixels and metadata.
    public mutating func turnUpright() throws(CoderError) {
        let pending = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        pixels = try PixelConverter.upright(pixels, pending)
        info.size = pixels.size
        info.orientation = .up
        info.orientationApplied = true
        for index in metadata.indices {
            switch metadata[index].kind {
            case .exif: metadata[index].bytes = ExifOrientation.replacing(metadata[index].bytes, with: .up)
            case .xmp: metadata[index].bytes = XMPOrientation.replacing(metadata[index].bytes, with: .up)
            default: break
            }
        }
    }
}

extension [MetadataBlob] {
    /// The metadata without Exif thumbnails.
    package var withoutThumbnails: [MetadataBlob] {
        map { blob in
            blob.kind == .exif ? MetadataBlob(.exif, ExifThumbnail.removing(blob.bytes), key: blob.key) : blob
        }
    }
}
