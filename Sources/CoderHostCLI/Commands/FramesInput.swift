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
        var isDeep = false
        var loops = LoopCount.unknown
        var notices: [FramesNotice] = []
        var profiles: [ColorProfile] = []
        for file in files {
            subject = file
            let source = try ImageSource(path: file, limits: host.manager.limits)
            let (info, count, profile, warnings) = try host.manager.withSession(source) { session throws(CoderError) in
                let isOne = try session.frameInfo(1) == nil
                let count = isOne ? 1 : try session.frames().count
                let profile = ColorProfile(file, session.info.color, try session.metadata())
                return (session.info, count, profile, session.context.warnings)
            }
            // The canvas around a frame of an animation is transparent.
            hasAlpha = hasAlpha || info.hasAlpha || count > 1
            isDeep = isDeep || info.nativeFormat.bits > 8
            loops = count > 1 ? info.loopCount : .unknown
            // One different profile is enough for the warning.
            if profiles.isEmpty || (profiles.count == 1 && !profiles[0].isSame(as: profile)) {
                profiles.append(profile)
            }
            notices += warnings.map { FramesNotice(file: file, message: $0) }
            let isRegular = FileStatus.of(file)?.isRegular == true
            items.append(Item(file: file, source: isRegular ? nil : source, frameCount: count))
        }
        if profiles.count > 1 { notices.append(profiles[0].notice(of: profiles[1])) }
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
            let image = try host.manager.decode(source)
            try body(try prepared(image), nil)
            return image.warnings.map { FramesNotice(file: item.file, message: $0) }
        }
        let session = try host.manager.openSession(source)
        let metadata = try session.metadata()
        for place in 0..<item.frameCount {
            let number = isReversed ? item.frameCount - 1 - place : place
            let (frame, pixels) = try session.decodeFrame(number)
            let image = DecodedImage(
                info: session.info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id)
            try body(try prepared(image), frame.duration)
        }
        return session.context.warnings.map { FramesNotice(file: item.file, message: $0) }
    }

    private func prepared(_ image: DecodedImage) throws(CoderError) -> DecodedImage {
        var image = image
        let pending = image.info.orientationApplied ? Orientation.up : image.info.orientation ?? .up
        if pending != .up { image.pixels = try PixelConverter.upright(image.pixels, pending) }
        image.pixels = try PixelConverter.convert(image.pixels, to: format)
        image.info.size = image.pixels.size
        image.info.orientation = .up
        return image
    }
}

/// The color description of an image.
private struct ColorProfile {
    private let file: String
    private let icc: [UInt8]?
    /// The CICP primaries and transfer; the matrix does not matter because decoded pixels are RGB.
    private let codes: [UInt8]

    init(_ file: String, _ color: ColorDescription, _ metadata: [MetadataBlob]) {
        self.file = file
        let points = color.codePoints.flatMap { color.prefersCodePoints || !color.hasProfile ? $0 : nil }
        icc = points == nil ? metadata.first { $0.kind == .icc }?.bytes : nil
        // 2 means unspecified, which is treated as sRGB (ITU-T H.273, tables 2 and 3).
        let stored = [points?.primaries ?? 2, points?.transfer ?? 2]
        codes = zip(stored, [1, 13]).map { $0 == 2 ? $1 : $0 }
    }

    func isSame(as other: ColorProfile) -> Bool { icc == other.icc && codes == other.codes }

    func notice(of other: ColorProfile) -> FramesNotice {
        let what =
            icc == nil && codes == [1, 13]
            ? "\(other.file) has a color profile but \(file) has none: no profile is written"
            : "the color profiles of \(file) and \(other.file) differ: the profile of \(file) is used for all"
        return FramesNotice(message: what)
    }
}
