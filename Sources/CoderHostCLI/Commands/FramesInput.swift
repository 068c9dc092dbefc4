import CoderHost
import ImageModel
import ImageProcessing

/// The pictures of an animation to be, looked at before the first of them is decoded.
///
/// An input that is an animation itself gives all of its frames.
struct FramesInput {
    private struct Item {
        var file: String
        /// Kept for what can be read only once.
        var source: ImageSource?
        var frameCount: Int
    }

    private let host: CoderHost
    private let items: [Item]
    /// One format for all pictures, in which none of them loses anything.
    private let format: PixelFormat
    /// Whether any of them has alpha.
    let hasAlpha: Bool
    let frameCount: Int

    /// - Parameter subject: the file that an error is about.
    init(_ files: [String], _ host: CoderHost, _ subject: inout String) throws(CoderError) {
        self.host = host
        var items: [Item] = []
        var hasAlpha = false
        var isDeep = false
        for file in files {
            subject = file
            let source = try ImageSource(path: file, limits: host.manager.limits)
            let count = try host.manager.withSession(source) { session throws(CoderError) in
                // What stands beside a frame of an animation is transparent.
                let isOne = try session.frameInfo(1) == nil
                hasAlpha = hasAlpha || session.info.hasAlpha || !isOne
                isDeep = isDeep || session.info.nativeFormat.bits > 8
                return isOne ? 1 : try session.frames().count
            }
            let isRegular = FileStatus.of(file)?.isRegular == true
            items.append(Item(file: file, source: isRegular ? nil : source, frameCount: count))
        }
        self.items = items
        self.hasAlpha = hasAlpha
        format = isDeep ? .rgba16 : .rgba8
        frameCount = items.reduce(0) { $0 + $1.frameCount }
    }

    /// Hands out the frames of one input, upright and all in one format; a still has no duration of its own.
    func each(
        _ index: Int, _ body: (DecodedImage, FrameDuration?) throws(CoderError) -> Void
    ) throws(CoderError) {
        let item = items[index]
        var source = item.source
        if source == nil { source = try ImageSource(path: item.file, limits: host.manager.limits) }
        guard let source else { return }
        if item.frameCount == 1 {
            let image = try host.manager.decode(source)
            return try body(try prepared(image), nil)
        }
        let session = try host.manager.openSession(source)
        let metadata = try session.metadata()
        for number in 0..<item.frameCount {
            let (frame, pixels) = try session.decodeFrame(number)
            let image = DecodedImage(
                info: session.info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id)
            try body(try prepared(image), frame.duration)
        }
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
