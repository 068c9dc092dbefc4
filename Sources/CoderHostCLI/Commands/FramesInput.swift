import CoderHost
import ImageModel
import ImageProcessing

/// The input images of a new animation; reads all headers before decoding the first image.
///
/// An animated input contributes all of its frames.
struct FramesInput {
    private struct Item {
        var file: String
        /// The source of an input that is not a regular file, because it can be read only once.
        var source: ImageSource?
        var frameCount: Int
    }

    private let host: CoderHost
    private let items: [Item]
    /// The common pixel format, which preserves the samples of all images.
    private let format: PixelFormat
    /// The color space of all frames; nil if the images have the same one.
    private let space: ColorProfile?
    /// Whether an image has alpha.
    let hasAlpha: Bool
    let frameCount: Int
    /// The loop count of a single animated input, if it has one.
    let loopCount: LoopCount?
    /// Warnings about the headers, or about differences between the images.
    let notices: [FramesNotice]

    /// Reads all headers.
    ///
    /// - Parameter subject: the file that caused an error.
    init(_ files: [String], _ host: CoderHost, _ subject: inout String) throws(CoderError) {
        self.host = host
        var items: [Item] = []
        var hasAlpha = false
        var (isDeep, hasInks) = (false, false)
        var loops = LoopCount.unknown
        var notices: [FramesNotice] = []
        var profiles: [(file: String, profile: ColorProfile)] = []
        for file in files {
            subject = file
            let source = try ImageSource(path: file, limits: host.manager.limits)
            let (info, count, profile, warnings) = try host.manager.withSession(source) { session throws(CoderError) in
                let isOne = try session.frameInfo(1) == nil
                let count = isOne ? 1 : try session.frames().count
                let profile = try session.colorProfile()
                return (session.info, count, profile, session.context.warnings)
            }
            // The canvas around a frame of an animation is transparent.
            hasAlpha = hasAlpha || info.hasAlpha || count > 1
            isDeep = isDeep || info.nativeFormat.bits > 8
            loops = count > 1 ? info.loopCount : .unknown
            // An animation has no inks: they become sRGB.
            let isInk = info.nativeFormat.channels == .cmyk
            hasInks = hasInks || isInk
            let own = isInk ? .sRGB : profile
            // One different profile is enough for the warning.
            if profiles.isEmpty || profiles.count == 1 && !profiles[0].profile.isSame(as: own) {
                profiles.append((file, own))
            }
            notices += warnings.map { FramesNotice(file: file, message: $0) }
            let isRegular = FileStatus.of(file)?.isRegular == true
            items.append(Item(file: file, source: isRegular ? nil : source, frameCount: count))
        }
        space = profiles.count > 1 ? profiles[0].profile.commonSpace : hasInks ? .sRGB : nil
        if profiles.count > 1 {
            let isFirst = space?.isSame(as: profiles[0].profile) ?? false
            notices.append(
                FramesNotice(
                    message: "the color spaces of \(profiles[0].file) and \(profiles[1].file) differ: all frames are "
                        + "converted to \(isFirst && space != .sRGB ? "that of \(profiles[0].file)" : "sRGB")"))
        }
        self.notices = notices
        self.items = items
        loopCount = items.count == 1 && loops != .unknown ? loops : nil
        self.hasAlpha = hasAlpha
        format = isDeep ? .rgba16 : .rgba8
        frameCount = items.reduce(0) { $0 + $1.frameCount }
    }

    /// Passes the frames of one input to `body`, upright and in the common format; stills have no duration.
    ///
    /// - Parameter isReversed: whether the last frame of an animated input comes first.
    /// - Returns: the warnings.
    func each(
        _ index: Int, reversed isReversed: Bool = false,
        _ body: (DecodedImage, FrameDuration?) throws(CoderError) -> Void
    ) throws(CoderError) -> [FramesNotice] {
        let item = items[index]
        var source = item.source
        if source == nil { source = try ImageSource(path: item.file, limits: host.manager.limits) }
        guard let source else { return [] }
        if item.frameCount == 1 {
            let image = try prepared(try host.manager.decode(source))
            try body(image, nil)
            return image.warnings.map { FramesNotice(file: item.file, message: $0) }
        }
        let session = try host.manager.openSession(source)
        let metadata = try session.metadata()
        for place in 0..<item.frameCount {
            let number = isReversed ? item.frameCount - 1 - place : place
            let (frame, pixels) = try session.decodeFrame(number)
            let image = DecodedImage(
                info: session.info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id)
            let ready = try prepared(image)
            for warning in ready.warnings { session.context.warn(warning) }
            try body(ready, frame.duration)
        }
        return session.context.warnings.map { FramesNotice(file: item.file, message: $0) }
    }

    /// Converts an image to the common color space.
    private func convertColors(of image: inout DecodedImage) throws(CoderError) {
        guard let space, !image.colorProfile.isSame(as: space) || image.pixels.format.channels == .cmyk else { return }
        if space == .sRGB { return try image.convertColors(to: .sRGB) }
        // A space of colors has no gray.
        if image.pixels.format.channels.count < 3 {
            try image.convertColors(to: .sRGB)
            image.pixels = try PixelConverter.convert(image.pixels, to: format)
        }
        try image.convertColors(to: space, embeds: true)
    }

    private func prepared(_ image: DecodedImage) throws(CoderError) -> DecodedImage {
        var image = image
        let pending = image.info.orientationApplied ? Orientation.up : image.info.orientation ?? .up
        if pending != .up { image.pixels = try PixelConverter.upright(image.pixels, pending) }
        try convertColors(of: &image)
        image.pixels = try PixelConverter.convert(image.pixels, to: format)
        image.info.size = image.pixels.size
        image.info.orientation = .up
        return image
    }
}

extension ColorProfile {
    /// Whether the pixels of two images have the same meaning; an image without a description counts as sRGB.
    fileprivate func isSame(as other: ColorProfile) -> Bool {
        (self == .assumed ? .sRGB : self) == (other == .assumed ? .sRGB : other)
    }

    /// The color space of an animation whose first image has this one: sRGB if other colors cannot be converted to it.
    fileprivate var commonSpace: ColorProfile {
        guard self != .assumed,
            (try? ColorTransformCache.shared.transform(from: .sRGB, .rgba8, to: self, .rgba8)) != nil
        else { return .sRGB }
        return self
    }
}
