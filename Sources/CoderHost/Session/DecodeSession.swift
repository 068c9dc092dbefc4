public import ImageModel

/// One picture being decoded by one coder.
///
/// Opening reads the header and checks it against the limits before any memory for pixels is taken.
///
/// - Concurrency: one thread at a time.
public final class DecodeSession {
    /// The coder at work.
    public let coder: CoderDescriptor
    /// The format, as the coder names it.
    public let format: ImageFormat
    public let info: ImageInfo
    public let context: SessionContext
    private let source: ImageSource
    private let ranked: RankedCoder
    private var decoder: any FrameDecoder
    private var compositor: FrameCompositor?
    private var nextIndex = 0
    /// A picture whose decoding waits for input, with the pixels it has so far.
    private var suspended: (frame: FrameInfo, pixels: PixelBuffer)?
    private let pool = PixelBufferPool.shared

    init(_ ranked: RankedCoder, _ source: ImageSource, _ context: SessionContext) throws(CoderError) {
        coder = ranked.descriptor
        format = ranked.format
        self.ranked = ranked
        self.source = source
        self.context = context
        decoder = try ranked.coder.makeDecoder(source, context)
        info = try decoder.readHeader()
        try LimitCheck.examine(info, source, context.limits)
    }

    /// Exif, XMP, ICC and so on, kept verbatim.
    public func metadata() throws(CoderError) -> [MetadataBlob] { try decoder.metadata() }

    /// Formats the coder can deliver, the native one first.
    public func pixelFormats() throws(CoderError) -> [PixelFormat] { try decoder.pixelFormats() }

    /// The orientation that still has to be applied to what is decoded.
    public var pendingOrientation: Orientation {
        info.orientationApplied ? .up : info.orientation ?? .up
    }

    // MARK: Raw frames

    /// Steps to the next frame without decoding it; nil behind the last.
    public func nextFrameInfo() throws(CoderError) -> FrameInfo? {
        // A coder that is never done need not ask whether to go on.
        try context.checkCancellation()
        guard let frame = try decoder.nextFrame() else { return nil }
        guard frame.index == nextIndex else {
            throw CoderError(.pluginFault, "frame \(frame.index) comes where \(nextIndex) should", coder: coder.id)
        }
        try examine(frame)
        try LimitCheck.examine(frameCount: frame.index + 1, of: info.size, context.limits)
        nextIndex = frame.index + 1
        return frame
    }

    /// Every frame's facts; nothing is decoded.
    public func frames() throws(CoderError) -> [FrameInfo] {
        if nextIndex > 0 { try rewind() }
        var result: [FrameInfo] = []
        while let frame = try nextFrameInfo() {
            result.append(frame)
        }
        try rewind()
        return result
    }

    private func rewind() throws(CoderError) {
        do throws(CoderError) {
            _ = try decoder.seek(toFrame: 0)
        } catch {
            // A coder without random access begins again.
            guard error.code == .unsupportedFeature else { throw error }
            decoder = try ranked.coder.makeDecoder(source, context)
            _ = try decoder.readHeader()
        }
        nextIndex = 0
        suspended = nil
        try compositor?.reset()
    }

    private func examine(_ frame: FrameInfo) throws(CoderError) {
        let rect = frame.rect
        if rect.isEmpty { return }
        guard rect.x >= 0, rect.y >= 0, let area = rect.size.area else {
            throw CoderError(.pluginFault, "frame \(frame.index) covers \(rect)", coder: coder.id)
        }
        // A frame may reach over the canvas, but it costs memory as large as it is.
        let limits = context.limits
        if limits.maxSide > 0, max(rect.width, rect.height) > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: max(rect.width, rect.height))
        }
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
    }

    // MARK: Pixels

    /// Decodes a still, or an animation's first frame, in a format the coder delivers.
    ///
    /// The pixels are those of the whole canvas, decoded into their final place. Orientation is not applied.
    /// - Throws: `.truncated` when the data ends too early, `.needsInput` while the source may grow; call again then.
    public func decodeImage(preferring wanted: PixelFormat? = nil) throws(CoderError) -> PixelBuffer {
        if let (_, pixels) = suspended { return try fill(pixels) }
        guard let frame = try nextFrameInfo() else {
            throw CoderError(.corrupt, "there is no frame in it", coder: coder.id)
        }
        return try decode(frame, preferring: wanted)
    }

    /// Decodes frame `index` as it is seen, with everything below it.
    ///
    /// Sequential access costs one frame; going back replays from the first. A buffer that is still held when the next
    /// frame is drawn is left alone.
    /// - Throws: `.invalidArgument` when there is no such frame.
    public func decodeFrame(_ index: Int) throws(CoderError) -> (frame: FrameInfo, pixels: PixelBuffer) {
        if index < nextIndex { try rewind() }
        while let frame = try nextFrameInfo() {
            if info.frameCount == 1 && index == 0 {
                return (frame, try decode(frame, preferring: nil))
            }
            let canvas = try composite(frame)
            if frame.index == index { return (frame, canvas) }
        }
        throw .invalidArgument(
            "there is no frame \(index)", hint: info.frameCount.map { "it has \($0), counted from 0" })
    }

    private func decode(_ frame: FrameInfo, preferring wanted: PixelFormat?) throws(CoderError) -> PixelBuffer {
        let offered = try decoder.pixelFormats()
        let format = wanted.flatMap { offered.contains($0) ? $0 : nil } ?? offered[0]
        let canvas = PixelRect(info.size)
        if frame.rect == canvas {
            // A picture that waits for input is continued in the memory where it was begun.
            let pixels = try take(info.size, format, clean: false)
            suspended = (frame, pixels)
            return try fill(pixels)
        }
        return try composite(frame)
    }

    private func fill(_ pixels: PixelBuffer) throws(CoderError) -> PixelBuffer {
        do throws(CoderError) {
            try complete(try decoder.decode(FrameRequest(), into: CanvasPlace(pixels)))
        } catch {
            if error.code != .needsInput { suspended = nil }
            throw error
        }
        suspended = nil
        return pixels
    }

    /// Draws a frame on the canvas and returns the canvas.
    private func composite(_ frame: FrameInfo) throws(CoderError) -> PixelBuffer {
        let compositor: FrameCompositor
        if let existing = self.compositor {
            compositor = existing
        } else {
            try examineByteCount(info.size, .rgba8)
            compositor = try FrameCompositor(size: info.size, pool: pool)
            self.compositor = compositor
        }
        let offered = try decoder.pixelFormats()
        let format = offered.contains(.rgba8) ? .rgba8 : offered[0]
        do throws(CoderError) {
            let outcome = try compositor.draw(frame, format: format) { place throws(CoderError) in
                try decoder.decode(FrameRequest(), into: place)
            }
            try complete(outcome)
        } catch {
            // A canvas that waits for input is drawn anew.
            if error.code == .needsInput { try rewind() }
            throw error
        }
        return compositor.canvas
    }

    private func complete(_ outcome: FrameOutcome) throws(CoderError) {
        guard outcome == .partial else { return }
        throw source.isComplete ? CoderError(.truncated, "the data ends too early", coder: coder.id) : .needsInput
    }

    private func take(_ size: PixelSize, _ format: PixelFormat, clean: Bool) throws(CoderError) -> PixelBuffer {
        try examineByteCount(size, format)
        return try pool.take(size, format, clean: clean)
    }

    private func examineByteCount(_ size: PixelSize, _ format: PixelFormat) throws(CoderError) {
        let (_, count) = try PixelBuffer.layout(size: size, format: format)
        if context.limits.maxDecodedBytes > 0, count > context.limits.maxDecodedBytes {
            throw .limit("memory", allowed: context.limits.maxDecodedBytes, requested: count)
        }
    }

    // MARK: Thumbnails

    /// The facts of every embedded thumbnail.
    public func thumbnails() throws(CoderError) -> [ImageInfo] {
        var result: [ImageInfo] = []
        while result.count < 64, let thumbnail = try decoder.thumbnail(at: result.count) { result.append(thumbnail) }
        return result
    }

    /// Decodes an embedded thumbnail in its native format.
    public func decodeThumbnail(_ index: Int) throws(CoderError) -> PixelBuffer {
        guard let facts = try decoder.thumbnail(at: index) else {
            throw .invalidArgument("there is no thumbnail \(index)")
        }
        try LimitCheck.examine(facts, source, context.limits)
        let buffer = try take(facts.size, facts.nativeFormat, clean: true)
        try decoder.decodeThumbnail(at: index, into: CanvasPlace(buffer))
        return buffer
    }
}
