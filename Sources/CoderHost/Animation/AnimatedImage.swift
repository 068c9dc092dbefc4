public import ImageModel
public import ImageProcessing
import Synchronization

/// An animation whose frames are decoded when they are asked for.
///
/// The source may still be growing: ``update()`` meets what has arrived since. What was met never changes. A still is an
/// animation of one frame.
///
/// - Concurrency: any thread. Decoding takes turns; facts are answered without waiting for it.
public final class AnimatedImage: Sendable {
    /// The bytes that its frames are decoded from.
    public let source: ImageSource
    public let info: ImageInfo
    public let format: ImageFormat
    /// The coder at work.
    public let coder: String
    /// Where it runs; nil for the host's own coders.
    public let isolation: IsolationReport?
    /// Decoded frames, shared by everybody who plays this image.
    public let pool = FramePool()

    private let firstFrameOnly: Bool
    /// What becomes of every frame.
    private let shape: FrameShape
    private let session: Mutex<DecodeSession>
    private let facts = Mutex(Facts())

    private struct Facts {
        var frames: [FrameInfo] = []
        var keyFrames: [Bool] = []
        var end = FrameListEnd.needsInput
    }

    /// Opens an animation and meets the frames that are there.
    ///
    /// - Parameter id: the only coder that is asked; nil asks the best one.
    /// - Throws: what is wrong with the header; `.needsInput` while a growing source has none yet. Damage behind it is
    ///   told by ``problem``.
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
        shape = FrameShape(session.info)
        self.session = Mutex(session)
        update()
    }

    /// Opens an animation whose frames come out as the options say, changed by a transformer.
    ///
    /// - Parameter transformer: sees every frame once it has the size and colours of the options.
    /// - Throws: as ``init(_:manager:options:limits:forcing:)``; what the transformer refuses is told by ``frame(at:)``.
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
        // A budget for all frames is shared among those that are known now.
        firstFrameOnly = options.firstFrameOnly
        var frameCount = options.firstFrameOnly ? 1 : session.info.frameCount
        if options.limitBytes != nil, frameCount == nil {
            _ = session.findFrames()
            frameCount = max(1, session.knownFrameCount)
        }
        let metadata = options.makesSRGB ? try session.metadata() : []
        shape = FrameShape(session.info, options, transformer, metadata: metadata, frameCount: frameCount ?? 1)
        self.session = Mutex(session)
        update()
    }

    /// Meets the frames that have arrived since, and answers how many there are now.
    @discardableResult
    public func update() -> Int {
        let known = facts.withLock { $0.frames.count }
        // A failure ends the list for good: nothing that arrives later mends it.
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

    // MARK: Facts

    /// Frames that can be decoded; of a growing source those that are complete.
    public var frameCount: Int { facts.withLock { $0.frames.count } }
    /// Whether no further frame will come.
    public var isComplete: Bool { facts.withLock { $0.end != .needsInput } }
    public var isAnimated: Bool {
        let extent = self.extent
        return extent.frameCount > 1 || info.isAnimated && !extent.isComplete
    }
    /// What is wrong behind the last frame, if anything is.
    public var problem: CoderError? {
        facts.withLock { if case .failure(let error) = $0.end { error } else { nil } }
    }
    public var loopCount: LoopCount { info.loopCount }
    /// The size of every frame.
    public var size: PixelSize { shape.size }
    /// The orientation that still has to be applied to every frame.
    public var pendingOrientation: Orientation {
        info.orientationApplied || shape.isUpright ? .up : info.orientation ?? .up
    }

    /// ``frameCount`` and ``isComplete`` of the same moment: the last frame and the end arrive together.
    var extent: (frameCount: Int, isComplete: Bool) {
        facts.withLock { ($0.frames.count, $0.end != .needsInput) }
    }

    /// Durations of frames that were met.
    func durations(_ range: Range<Int>) -> [FrameDuration] {
        facts.withLock { $0.frames[range.clamped(to: 0..<$0.frames.count)].map(\.duration) }
    }

    /// The facts of frame `index`.
    ///
    /// - Throws: `.invalidArgument` when there is none.
    public func frameInfo(at index: Int) throws(CoderError) -> FrameInfo {
        let frame = facts.withLock { $0.frames.indices.contains(index) ? $0.frames[index] : nil }
        guard let frame else { throw .invalidArgument("there is no frame \(index)", hint: "there are \(frameCount)") }
        return frame
    }

    /// How long frame `index` is to be shown, exactly as stored.
    public func duration(at index: Int) throws(CoderError) -> FrameDuration { try frameInfo(at: index).duration }

    /// Whether random access can begin at frame `index`.
    public func isKeyFrame(_ index: Int) -> Bool {
        facts.withLock { $0.keyFrames.indices.contains(index) && $0.keyFrames[index] }
    }

    /// Bytes of one decoded frame.
    public var bytesPerFrame: Int {
        (try? PixelBuffer.layout(size: size, format: shape.format).byteCount) ?? 0
    }

    // MARK: Pictures

    /// Decodes frame `index` as it is seen, unless the pool has it.
    ///
    /// One after the other they cost one frame each, any other one a replay from its nearest key frame. What a player
    /// needs soon goes to the pool, the frames passed in a replay, too: backwards every one of them would be a replay.
    /// - Throws: `.needsInput` while only a part of the first frame has arrived.
    public func frame(at index: Int) throws(CoderError) -> ImageFrame {
        if let pooled = pool.frame(at: index) { return pooled }
        _ = try frameInfo(at: index)
        return try session.withLock { session throws(CoderError) in
            // Somebody else may have decoded it while this one waited.
            if let pooled = pool.frame(at: index) { return pooled }
            let frame = try decode(index, session)
            if pool.needs(index, bytesPerFrame: bytesPerFrame) { pool.store(frame, at: index) }
            return frame
        }
    }

    /// Frame `index` as a picture of its own, with the orientation and metadata of the file, for writing it as a still.
    ///
    ///     let png = try manager.encode(try animation.image(at: 3), to: "png")
    ///
    /// - Throws: as ``frame(at:)``.
    public func image(at index: Int) throws(CoderError) -> DecodedImage {
        let pixels = try frame(at: index).pixels
        var info = self.info
        info.size = pixels.size
        info.nativeFormat = pixels.format
        if shape.isUpright { (info.orientation, info.orientationApplied) = (.up, true) }
        info.frameCount = 1
        info.isAnimated = false
        info.loopCount = .unknown
        var metadata = try metadata()
        if shape.makesSRGB {
            metadata.removeAll { $0.kind == .icc }
            info.color = ColorDescription(codePoints: .sRGB)
        }
        return DecodedImage(
            info: info, pixels: pixels, metadata: metadata, format: format, coder: coder, warnings: warnings)
    }

    private func decode(_ index: Int, _ session: DecodeSession) throws(CoderError) -> ImageFrame {
        session.context.restartClock()
        let bytes = bytesPerFrame
        let (info, pixels) = try session.decodeFrame(
            index, keeping: { pool.needs($0, bytesPerFrame: bytes) },
            onTheWay: { info, pixels in
                guard let shaped = try? shape.apply(to: pixels) else { return }
                pool.store(ImageFrame(shaped, duration: info.duration), at: info.index)
            })
        return ImageFrame(try shape.apply(to: pixels), duration: info.duration)
    }

    /// Decodes the frame that some player needs soonest and that fits into the pool; false when there is none.
    ///
    /// A frame that costs a replay waits until the replay serves several frames, or the frame is the next one.
    /// - Concurrency: any thread; meant for one that has nothing else to do.
    @discardableResult
    public func prepareNext() throws(CoderError) -> Bool {
        if pool.missing(bytesPerFrame: bytesPerFrame, within: frameCount).isEmpty { return false }
        return try session.withLock { session throws(CoderError) in
            let missing = pool.missing(bytesPerFrame: bytesPerFrame, within: frameCount)
            let costs = missing.map { session.replayCount(of: $0.index) }
            // With several players those come first that cost no replay, lest it goes to and fro between them.
            guard let choice = costs.firstIndex(of: 1) ?? missing.indices.first(where: { missing[$0].pays(costs[$0]) })
            else { return false }
            let index = missing[choice].index
            pool.store(try decode(index, session), at: index)
            return true
        }
    }

    /// Exif, XMP, ICC and so on, kept verbatim.
    public func metadata() throws(CoderError) -> [MetadataBlob] {
        try session.withLock { session throws(CoderError) in try session.metadata() }
    }

    /// What was off although the frames are usable.
    public var warnings: [String] { session.withLock { $0.context.warnings } }

    /// Decodes as much as there is of a still, or of the first frame, for showing it while it arrives.
    ///
    /// - Parameter body: looks at the pixels, which the next call goes on drawing: keep no reference.
    /// - Returns: nil when nothing new can be seen.
    public func withAvailable<R: Sendable>(
        _ body: (AvailablePicture) -> R
    ) throws(CoderError) -> R? {
        try session.withLock { session throws(CoderError) -> R? in
            session.context.restartClock()
            guard let picture = try session.decodeAvailable() else { return nil }
            return body(picture)
        }
    }

    /// Decodes all frames into the pool and keeps them there.
    ///
    /// - Throws: `.limitExceeded` when they do not fit into the limit on memory.
    public func preloadAllFrames() throws(CoderError) {
        let (bytes, overflow) = bytesPerFrame.multipliedReportingOverflow(by: frameCount)
        let allowed = session.withLock { $0.context.limits.maxDecodedBytes }
        if allowed > 0, overflow || bytes > allowed {
            throw .limit("memory", allowed: allowed, requested: overflow ? .max : bytes)
        }
        pool.byteBudget = max(pool.byteBudget, bytes)
        for index in 0..<frameCount { pool.store(try frame(at: index), at: index) }
    }

    /// Forgets all decoded frames.
    public func unloadAllFrames() { pool.removeAll() }

    public var areAllFramesLoaded: Bool { pool.count == frameCount }
}
