import CoderHost
import ImageModel
import ImageProcessing

/// Decodes images that a cache has read from disk, and encodes images for it.
enum StoredImage {
    /// Decodes the bytes of a file.
    ///
    /// - Parameter running: receives the session, so that another thread can cancel it.
    /// - Throws: the error of the coder.
    static func decode(
        _ source: ImageSource, _ options: LoadOptions, scaleFactor: Double, extended: [UInt8]?,
        _ coders: CodersManager, _ running: SessionBox? = nil
    ) throws(CoderError) -> LoadedImage {
        func loaded(_ content: LoadedImage.Content, _ format: ImageFormat) -> LoadedImage {
            LoadedImage(
                content, format: format, scaleFactor: scaleFactor, options: options.decode, extendedData: extended)
        }
        let wantsStill = options.kind == .still || options.decode.firstFrameOnly
        var coder = options.parts.coder
        if options.kind != .animated {
            let still = try coders.withSession(source, options.decode, forcing: coder) {
                session throws(CoderError) -> LoadedImage? in
                running?.hold(session.context)
                coder = session.coder.id
                if !wantsStill, isAnimated(session) { return nil }
                return loaded(.still(try session.decodeImage(options.decode)), session.format)
            }
            if let still { return still }
        }
        var decode = options.decode
        decode.firstFrameOnly = wantsStill
        let animation = try AnimatedImage(source, manager: coders, decode, forcing: coder)
        if let problem = animation.problem, animation.frameCount == 0 { throw problem }
        if options.animation.preloadsFrames { try animation.preloadAllFrames() }
        return loaded(.animated(animation), animation.format)
    }

    /// Whether there is a second frame; decodes nothing.
    static func isAnimated(_ session: DecodeSession) -> Bool {
        guard session.coder.roles.contains(.animation), session.info.frameCount != 1 else { return false }
        // If the data after the first frame are damaged, the image counts as a still.
        return ((try? session.frameInfo(1)) ?? nil) != nil
    }

    /// Returns the first frame of an animation as a still; returns a still unchanged.
    static func firstFrame(of image: LoadedImage) throws(CoderError) -> LoadedImage {
        guard let animation = image.animation else { return image }
        var options = image.options
        options.firstFrameOnly = true
        return LoadedImage(
            .still(try animation.image(at: 0)), format: image.format, scaleFactor: image.scaleFactor,
            isTransformed: image.isTransformed, options: options, extendedData: image.extendedData
        ).with(image.freshness)
    }

    // MARK: Encoding

    /// Returns the bytes to store for an image.
    ///
    /// It returns the original bytes if the image is unmodified; otherwise it encodes the image. The format is the
    /// requested one, or the image's own if it can be written. Otherwise animations use the format for animations, and
    /// stills the default format with or without alpha.
    /// - Throws: `.noCoder`, errors of the coder.
    static func encode(
        _ image: LoadedImage, _ options: LoadOptions, animationFormat: ImageFormat?, _ coders: CodersManager
    ) throws(CoderError) -> [UInt8] {
        switch image.content {
        case .still(let still):
            return try coders.encode(
                still, to: options.cache.format ?? format(of: image, still, coders), options.cache.encode)
        case .animated(let animation):
            if isWholeFile(image, animation, options) { return animation.source.bytes(0..<animation.source.count) }
            guard animation.isAnimated, !options.cache.encode.firstFrameOnly else {
                let first = try firstFrame(of: image)
                return try encode(first, options, animationFormat: animationFormat, coders)
            }
            let isOwn = !coders.animationEncoders(for: image.format).isEmpty
            let format =
                options.cache.format ?? (isOwn ? image.format : animationFormat)
                ?? coders.defaultFormat(animated: true, alpha: true)
            guard let format else {
                throw CoderError(
                    .noCoder, "no installed plugin encodes animations", hint: "install one; see coderhost list")
            }
            let sink = MemorySink(limits: coders.limits)
            try coders.encode(animation, to: format, options.cache.encode, into: sink)
            return sink.bytes
        }
    }

    private static func isWholeFile(_ image: LoadedImage, _ animation: AnimatedImage, _ options: LoadOptions) -> Bool {
        var made = LoadOptions()
        made.decode = image.options
        return !image.isTransformed && animation.source.isComplete && CacheKey(original: "", made).isOriginal
            && (options.cache.format ?? image.format) == image.format && options.cache.encode == EncodeOptions()
    }

    private static func format(
        of image: LoadedImage, _ still: DecodedImage, _ coders: CodersManager
    ) -> ImageFormat? {
        let hasAlpha = still.info.hasAlpha || image.isTransformed && still.pixels.format.hasTransparency
        // A transformer may make an opaque image transparent; the format of opaque images cannot store that.
        let losesAlpha = hasAlpha && image.format == coders.defaultFormat(animated: false, alpha: false)
        let isOwn = !image.format.id.isEmpty && coders.canEncode(to: image.format) && !losesAlpha
        return isOwn ? image.format : coders.defaultFormat(animated: false, alpha: hasAlpha)
    }
}
