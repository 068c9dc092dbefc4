import HostSystem
public import ImageModel
public import ImageProcessing
public import PluginRuntime

/// An animation whose frames are decoded on demand.
///
/// The source may grow; ``update()`` finds frames that arrived since the last call. Frames already found never change.
/// A still image is an animation of one frame.
///
/// - Concurrency: any thread. Decoding is serialized; properties never wait for it.
public final class AnimatedImage: Sendable {
    /// The encoded bytes of the animation.
    package let source: ImageSource
    /// The properties of the file.
    public let info: ImageInfo
    /// The format of the file.
    package let format: ImageFormat
    /// The id of the coder in use.
    package let coder: String
    /// Where the coder runs; nil for the host's own coders.
    package let isolation: IsolationReport?
    /// Decoded frames, shared by all players of this image.
    package let pool = FramePool()

    private let firstFrameOnly: Bool
    /// The size, format and orientation of the resulting frames.
    private let shape: ImageShape
    private let session: Mutex<DecodeSession>
    private let facts = Mutex(Facts())

    private struct Facts {
        var frames: [FrameInfo] = []
        var keyFrames: [Bool] = []
        var end = FrameListEnd.needsInput
        var window: PixelRect?
    }

    /// Opens an animation and finds the available frames.
    ///
    /// - Parameter id: the id of the only coder to use; nil selects the best one.
    /// - Throws: the error of the header; `.needsInput` while a growing source has no header yet. ``problem`` holds
    ///   an error after the header.
    public init(
        _ source: ImageSource, manager: CodersManager, options: CoderOptions = CoderOptions(),
        limits: DecodeLimits? = nil, forcing id: String? = nil
    ) throws(CoderError) {
        let session = try manager.openSession(source, options: options, limits: limits, forcing: id)
        self.source = source
        info = session.info
        format = session.format
        coder = session.coder.id
        isolation = session.isolation
        firstFrameOnly = false
        shape = try ImageShape(session.info, DecodeOptions(), format: session.info.canvasFormat)
        self.session = Mutex(session)
        update()
    }

    /// Opens an animation with decoding options and a transformer for its frames.
    ///
    /// - Parameter transformer: transforms every frame after the options are applied.
    /// - Throws: as ``init(_:manager:options:limits:forcing:)``; ``frame(at:)`` throws the errors of the transformer.
    public init(
        _ source: ImageSource, manager: CodersManager, _ options: DecodeOptions,
        transformer: (any ImageTransformer)? = nil, limits: DecodeLimits? = nil, forcing id: String? = nil
    ) throws(CoderError) {
        let session = try manager.openSession(source, options: options.coder, limits: limits, forcing: id)
        self.source = source
        info = session.info
        format = session.format
        coder = session.coder.id
        isolation = session.isolation
        // The byte limit for all frames is divided by the number of frames known now.
        firstFrameOnly = options.firstFrameOnly
        var frameCount = options.firstFrameOnly ? 1 : session.info.frameCount
        if options.size.dependsOnFrameCount, frameCount == nil {
            _ = session.findFrames()
            frameCount = max(1, session.knownFrameCount)
        }
        let metadata = options.colors == .stored ? [] : try session.settledMetadata()
        var finish = ImageFinish()
        finish.transformer = transformer
        shape = try ImageShape(
            session.info, options, finish, format: session.info.canvasFormat, metadata: metadata,
            frameCount: frameCount ?? 1)
        if let warning = shape.warning { session.context.warn(warning) }
        for size in shape.sizes where size != info.size {
            try LimitCheck.examine(made: size, info.canvasFormat, session.context.limits)
        }
        self.session = Mutex(session)
        update()
    }

    /// Finds frames that have arrived since the last call and returns the current number.
    @discardableResult
    package func update() -> Int {
        let known = facts.withLock { $0.frames.count }
        // After a failure the list is final; later bytes cannot repair it.
        if case .needsInput = facts.withLock({ $0.end }) {} else { return known }
        return session.withLock { session in
            session.context.restartClock()
            let end = session.findFrames()
            return facts.withLock { facts in
                let known = firstFrameOnly ? min(1, session.knownFrameCount) : session.knownFrameCount
                for index in facts.frames.count..<max(facts.frames.count, known) {
                    facts.frames.append(session.knownFrame(index))
                    facts.keyFrames.append(session.isKeyFrame(index))
                }
                facts.end = firstFrameOnly && known > 0 ? .complete : end
                return facts.frames.count
            }
        }
    }

    // MARK: Properties

    /// The number of frames that can be decoded; for a growing source, of complete frames.
    public var frameCount: Int { facts.withLock { $0.frames.count } }
    /// Whether the list of frames is final.
    public var isComplete: Bool { facts.withLock { $0.end != .needsInput } }
    /// Whether the image has several frames, or is an incomplete animation.
    package var isAnimated: Bool {
        let extent = self.extent
        return extent.frameCount > 1 || info.isAnimated && !extent.isComplete
    }
    /// The error after the last frame, if any.
    public var problem: CoderError? {
        facts.withLock { if case .failure(let error) = $0.end { error } else { nil } }
    }
    /// The number of plays in the file.
    public var loopCount: LoopCount { info.loopCount }
    /// The size of every frame.
    public var size: PixelSize { shape.size }
    /// The orientation that the caller must still apply to every frame.
    package var pendingOrientation: Orientation {
        info.orientationApplied || shape.isUpright ? .up : info.orientation ?? .up
    }

    /// A consistent pair of ``frameCount`` and ``isComplete``.
    var extent: (frameCount: Int, isComplete: Bool) {
        facts.withLock { ($0.frames.count, $0.end != .needsInput) }
    }

    /// Returns the durations of known frames.
    func durations(_ range: Range<Int>) -> [FrameDuration] {
        facts.withLock { $0.frames[range.clamped(to: 0..<$0.frames.count)].map(\.duration) }
    }

    /// Returns the properties of frame `index`.
    ///
    /// - Throws: `.invalidArgument` if there is no such frame.
    package func frameInfo(at index: Int) throws(CoderError) -> FrameInfo {
        let frame = facts.withLock { $0.frames.indices.contains(index) ? $0.frames[index] : nil }
        guard let frame else { throw .invalidArgument("there is no frame \(index)", hint: "there are \(frameCount)") }
        return frame
    }

    /// Returns the duration of frame `index`, exactly as stored.
    public func duration(at index: Int) throws(CoderError) -> FrameDuration { try frameInfo(at: index).duration }

    /// Whether random access can start at frame `index`.
    package func isKeyFrame(_ index: Int) -> Bool {
        facts.withLock { $0.keyFrames.indices.contains(index) && $0.keyFrames[index] }
    }

    /// The bytes of one decoded frame.
    package var bytesPerFrame: Int {
        let format = shape.options.colors == .standardRange ? PixelFormat.rgba8 : info.canvasFormat
        return (try? PixelBuffer.layout(size: size, format: format).byteCount) ?? 0
    }

    // MARK: Images

    /// Returns frame `index` as displayed, from the pool or by decoding it.
    ///
    /// Sequential access costs one frame; random access decodes all frames from the nearest key frame. Frames that a
    /// player needs soon are added to the pool, including frames decoded on the way, which makes reverse playback
    /// efficient.
    /// - Throws: `.needsInput` while only a part of the first frame has arrived.
    public func frame(at index: Int) throws(CoderError) -> ImageFrame {
        if let pooled = pool.frame(at: index) { return pooled }
        _ = try frameInfo(at: index)
        return try session.withLock { session throws(CoderError) in
            // Another thread may have decoded it in the meantime.
            if let pooled = pool.frame(at: index) { return pooled }
            let frame = try decode(index, session)
            if pool.needs(index, bytesPerFrame: bytesPerFrame) { pool.store(frame, at: index) }
            return frame
        }
    }

    /// Returns frame `index` as a still image with the orientation and metadata of the file.
    ///
    ///     let png = try manager.encode(try animation.image(at: 3), to: "png")
    ///
    /// - Throws: the errors of ``frame(at:)``.
    public func image(at index: Int) throws(CoderError) -> DecodedImage {
        let pixels = try frame(at: index).pixels
        return try session.withLock { session throws(CoderError) in try still(pixels, session) }
    }

    private func still(_ pixels: PixelBuffer, _ session: DecodeSession) throws(CoderError) -> DecodedImage {
        var (info, metadata) = (self.info, try session.settledMetadata())
        info.frameCount = 1
        info.isAnimated = false
        info.loopCount = .unknown
        shape.describe(&info, &metadata, pixels.size, pixels.format)
        return DecodedImage(
            info: info, pixels: pixels, metadata: metadata, format: format, coder: coder,
            warnings: session.context.warnings)
    }

    private func decode(_ index: Int, _ session: DecodeSession) throws(CoderError) -> ImageFrame {
        session.context.restartClock()
        let bytes = bytesPerFrame
        var notes = ShapeNotes()
        if shape.isCroppedByContent {
            // The first frame decides, also if another one is requested first.
            notes.window = facts.withLock { $0.window }
            if notes.window == nil { _ = try shape.apply(to: try session.decodeFrame(0).pixels, &notes) }
            facts.withLock { [window = notes.window] in $0.window = window }
        }
        let (info, pixels) = try session.decodeFrame(
            index, keeping: { pool.needs($0, bytesPerFrame: bytes) },
            onTheWay: { info, pixels in
                guard let shaped = try? shape.apply(to: pixels, &notes) else { return }
                pool.store(ImageFrame(shaped, duration: info.duration), at: info.index)
            })
        let shaped = try shape.apply(to: pixels, &notes)
        for warning in notes.warnings { session.context.warn(warning) }
        return ImageFrame(shaped, duration: info.duration)
    }

    /// Decodes the most urgent frame that fits into the pool; returns false if there is none.
    ///
    /// A frame that requires a replay is decoded only when the replay yields several frames, or when it is the next
    /// one.
    /// - Concurrency: any thread, preferably an idle one.
    @discardableResult
    package func prepareNext() throws(CoderError) -> Bool {
        if pool.missing(bytesPerFrame: bytesPerFrame, within: frameCount).isEmpty { return false }
        return try session.withLock { session throws(CoderError) in
            let missing = pool.missing(bytesPerFrame: bytesPerFrame, within: frameCount)
            let costs = missing.map { session.replayCount(of: $0.index) }
            // With several players, frames without a replay come first; otherwise decoding would alternate between
            // players.
            guard let choice = costs.firstIndex(of: 1) ?? missing.indices.first(where: { missing[$0].pays(costs[$0]) })
            else { return false }
            let index = missing[choice].index
            pool.store(try decode(index, session), at: index)
            return true
        }
    }

    /// Returns Exif, XMP, ICC and other metadata, unchanged; for a growing source, the part that has arrived.
    public func metadata() throws(CoderError) -> [MetadataBlob] {
        try session.withLock { session throws(CoderError) in try session.settledMetadata() }
    }

    /// Problems of usable frames.
    public var warnings: [String] { session.withLock { $0.context.warnings } }

    /// Decodes the available part of a still image or first frame, to display it while it arrives.
    ///
    /// - Parameter body: reads the pixels, which later calls modify: do not keep a reference.
    /// - Returns: the result of `body`; nil if there is nothing new to display.
    package func withAvailable<R: Sendable>(
        _ body: (AvailableImage) -> R
    ) throws(CoderError) -> R? {
        try session.withLock { session throws(CoderError) -> R? in try available(session).map(body) }
    }

    /// Returns a copy of the available part of the first frame; nil if there is nothing new to display.
    package func availableFirstFrame() throws(CoderError) -> (image: DecodedImage, isComplete: Bool)? {
        try session.withLock { session throws(CoderError) in
            guard let part = try available(session) else { return nil }
            return (try still(try PixelConverter.copy(part.pixels), session), part.isComplete)
        }
    }

    /// Decodes and shapes the available part; pixels without changes are not copied.
    private func available(_ session: DecodeSession) throws(CoderError) -> AvailableImage? {
        session.context.restartClock()
        guard var part = try session.decodeAvailable() else { return nil }
        var notes = ShapeNotes()
        let shaped = try shape.apply(to: part.pixels, &notes)
        if shaped !== part.pixels { part.changed = PixelRect(shaped.size) }
        part.pixels = shaped
        return part
    }

    /// Decodes all frames into the pool and keeps them there.
    ///
    /// - Throws: `.limitExceeded` if they exceed the memory limit.
    package func preloadAllFrames() throws(CoderError) {
        let (bytes, overflow) = bytesPerFrame.multipliedReportingOverflow(by: frameCount)
        let allowed = session.withLock { $0.context.limits.maxDecodedBytes }
        if allowed > 0, overflow || bytes > allowed {
            throw .limit("memory", allowed: allowed, requested: overflow ? .max : bytes)
        }
        pool.byteBudget = max(pool.byteBudget, bytes)
        for index in 0..<frameCount { pool.store(try frame(at: index), at: index) }
    }

    /// Removes all decoded frames from the pool.
    package func unloadAllFrames() { pool.removeAll() }

    /// Whether the pool contains every frame.
    package var areAllFramesLoaded: Bool { pool.count == frameCount }
}
