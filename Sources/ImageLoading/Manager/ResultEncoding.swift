import CoderHost
import ImageModel
import ImageProcessing

/// Makes the bytes under which a result is kept on disk.
enum ResultEncoding {
    /// The format that was asked for, else the picture's own where it can be written, else the usual one.
    static func bytes(
        of image: LoadedImage, _ options: LoadOptions, _ coders: CodersManager
    ) throws(CoderError) -> [UInt8]? {
        switch image.content {
        case .still(let still):
            let format = options.storeFormat ?? ownFormat(image, coders)
            return try coders.encode(still, to: format, options.encode)
        case .animated(let animation):
            guard let format = options.storeFormat ?? animationFormat(image, coders) else { return nil }
            return try encode(animation, to: format, options, coders)
        }
    }

    private static func ownFormat(_ image: LoadedImage, _ coders: CodersManager) -> ImageFormat {
        let hasAlpha = image.still?.pixels.format.hasTransparency ?? false
        // What was cut out of an opaque picture is transparent, and its own format may have no way to say so.
        if coders.encoders(for: image.format).isEmpty || hasAlpha && image.isTransformed {
            return coders.defaultFormat(hasAlpha: hasAlpha)
        }
        return image.format
    }

    private static func animationFormat(_ image: LoadedImage, _ coders: CodersManager) -> ImageFormat? {
        coders.animationEncoders(for: image.format).isEmpty
            ? coders.animationFormats.first.map { coders.format(named: $0) } : image.format
    }

    private static func encode(
        _ animation: AnimatedImage, to format: ImageFormat, _ options: LoadOptions, _ coders: CodersManager
    ) throws(CoderError) -> [UInt8] {
        let sink = MemorySink(limits: coders.limits)
        var facts = animation.info
        facts.size = animation.size
        if animation.pendingOrientation == .up { (facts.orientation, facts.orientationApplied) = (.up, true) }
        facts.frameCount = animation.frameCount
        let encoder = try coders.makeAnimationEncoder(
            to: format, of: facts, metadata: try animation.metadata(), options: options.encode.coder, into: sink)
        for index in 0..<animation.frameCount {
            let frame = try animation.frame(at: index)
            try encoder.add(frame.pixels, duration: frame.duration)
        }
        _ = try encoder.finish()
        return sink.bytes
    }
}
