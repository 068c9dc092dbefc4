public import ImageModel
import ImageProcessing

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
    /// The facts of the selected item: of the primary one until ``select(item:)``.
    public private(set) var info: ImageInfo
    /// The number of the selected item.
    public private(set) var selectedItem = 0
    public let context: SessionContext
    let source: ImageSource
    private(set) var sequence: FrameSequence
    private let ranked: RankedCoder
    /// The items as far as they were listed.
    var listedItems: [ListedItem]?
    private var settled: [MetadataBlob]?
    /// A picture whose decoding waits for input, with the pixels it has so far.
    private var suspended: PixelBuffer?
    /// Where pictures come from that the coder fills.
    let pool: PixelBufferPool

    /// Where the coder runs; nil for the host's own and the application's, which always run in this process.
    public var isolation: IsolationReport? { context.isolation }

    init(_ ranked: RankedCoder, _ source: ImageSource, _ context: SessionContext) throws(CoderError) {
        coder = ranked.descriptor
        format = ranked.format
        self.ranked = ranked
        self.source = source
        self.context = context
        let (decoder, info) = try Self.again { () throws(CoderError) in
            let decoder = try ranked.coder.makeDecoder(source, context)
            return (decoder, try decoder.readHeader())
        }
        self.info = info
        try LimitCheck.examine(info, source, context.limits, roles: ranked.descriptor.roles)
        pool = (decoder as? ImportedDecoder)?.pool ?? .shared
        sequence = Self.sequence(ranked, source, context, info, decoder, pool, item: 0)
    }

    private static func sequence(
        _ ranked: RankedCoder, _ source: ImageSource, _ context: SessionContext, _ info: ImageInfo,
        _ decoder: any FrameDecoder, _ pool: PixelBufferPool, item: Int
    ) -> FrameSequence {
        FrameSequence(
            info, decoder, context, pool, isIncremental: ranked.descriptor.roles.contains(.incremental),
            costsByPart: LimitCheck.costsByPart(info, ranked.descriptor.roles),
            isComplete: { source.isComplete }
        ) { () throws(CoderError) in
            let decoder = try ranked.coder.makeDecoder(source, context)
            _ = try decoder.readHeader()
            if item != 0 { try decoder.select(item: item) }
            return decoder
        }
    }

    /// Makes item `index` of the file the image that every later call concerns.
    ///
    /// - Throws: `.invalidArgument` where there is no such item; `.refused` where it cannot be decoded. The session stays at
    ///   the item before.
    public func select(item index: Int) throws(CoderError) {
        if index == selectedItem { return }
        guard coder.roles.contains(.items) else {
            throw .invalidArgument("there is no item \(index)", hint: "this format holds one image")
        }
        // Frames that were met belong to the item before, and to its decoder.
        let decoder = try ranked.coder.makeDecoder(source, context)
        _ = try decoder.readHeader()
        guard try decoder.item(at: index) != nil else {
            throw .invalidArgument("there is no item \(index)", hint: "coderhost info --items lists them, counted from 0")
        }
        if index != 0 { try decoder.select(item: index) }
        let chosen = try decoder.readHeader()
        try LimitCheck.examine(chosen, source, context.limits, roles: coder.roles)
        info = chosen
        selectedItem = index
        settled = nil
        suspended = nil
        sequence = Self.sequence(ranked, source, context, chosen, decoder, pool, item: index)
    }

    /// Does something once more that failed for a reason from outside: a worker that somebody killed.
    private static func again<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            guard error.isPassing else { throw error }
            return try body()
        }
    }

    /// Exif, XMP, ICC and so on, kept verbatim.
    public func metadata() throws(CoderError) -> [MetadataBlob] { try sequence.decoder().metadata() }

    /// The metadata of a picture that was decoded: read once from a source that is complete, not again for every frame.
    func settledMetadata() throws(CoderError) -> [MetadataBlob] {
        if let settled { return settled }
        let all = try metadata()
        if source.isComplete { settled = all }
        return all
    }

    /// Formats the coder can deliver, the native one first.
    public func pixelFormats() throws(CoderError) -> [PixelFormat] { try sequence.decoder().pixelFormats() }

    /// The orientation that still has to be applied to what is decoded.
    public var pendingOrientation: Orientation {
        info.orientationApplied ? .up : info.orientation ?? .up
    }

    // MARK: Frames

    /// Every frame's facts; nothing is decoded.
    ///
    /// - Throws: what is wrong behind the last whole frame; those in front of it can still be decoded.
    public func frames() throws(CoderError) -> [FrameInfo] {
        while try sequence.meetNext() != nil {}
        return knownFrames
    }

    /// The frames met so far; those of a source that grows become more with every call of ``findFrames()``.
    public var knownFrames: [FrameInfo] { (0..<knownFrameCount).map { sequence.timeline[$0] } }
    public var knownFrameCount: Int { sequence.timeline.count }
    func knownFrame(_ index: Int) -> FrameInfo { sequence.timeline[index] }

    /// Looks for further frames among the bytes that are there, and answers what stands behind the last one.
    ///
    /// What was met stays as it is.
    public func findFrames() -> FrameListEnd {
        do throws(CoderError) {
            while try sequence.meetNext() != nil {}
            return .complete
        } catch {
            return error.code == .needsInput ? .needsInput : .failure(error)
        }
    }

    /// The facts of frame `index`; nil when there are fewer frames.
    public func frameInfo(_ index: Int) throws(CoderError) -> FrameInfo? {
        if index < 0 { return nil }
        // A coder of stills is not asked for a second frame: it would have to be opened again to decode the first. One of
        // animations says whether there is nothing behind a single frame, or something that is cut off.
        if index > 0, info.frameCount == 1, !coder.roles.contains(.animation) { return nil }
        guard try sequence.meet(index) else { return nil }
        return sequence.timeline[index]
    }

    /// Whether frame `index`, which was met, is seen without any frame before it: random access begins there.
    public func isKeyFrame(_ index: Int) -> Bool { sequence.timeline.isKeyFrame(index) }

    /// Decodes frame `index` as it is seen, with everything below it.
    ///
    /// The next frame costs one frame; any other one is replayed from the nearest key frame. A buffer that is still held
    /// when another frame is drawn is left alone.
    /// - Throws: `.invalidArgument` when there is no such frame; `.needsInput` when it may still come.
    public func decodeFrame(_ index: Int) throws(CoderError) -> (frame: FrameInfo, pixels: PixelBuffer) {
        try decodeFrame(index, keeping: { _ in false }, onTheWay: { _, _ in })
    }

    /// Decodes frame `index`, and hands out those wanted frames that are passed in a replay, as they are seen.
    func decodeFrame(
        _ index: Int, keeping wants: (Int) -> Bool, onTheWay keep: (FrameInfo, PixelBuffer) -> Void
    ) throws(CoderError) -> (frame: FrameInfo, pixels: PixelBuffer) {
        guard let frame = try frameInfo(index) else {
            throw .invalidArgument(
                "there is no frame \(index)",
                hint: "it has \(info.frameCount == 1 ? 1 : knownFrameCount), counted from 0")
        }
        // Later ones there may be all the same: what a coder counts is not always what it delivers.
        if info.frameCount == 1, index == 0 { return (frame, try decodeImage()) }
        let pixels = try Self.again { () throws(CoderError) in
            try sequence.picture(of: index, keeping: wants, onTheWay: keep)
        }
        return (frame, pixels)
    }

    /// How many frames are drawn to see frame `index`, which was met: 1 unless it costs a replay.
    func replayCount(of index: Int) -> Int { info.frameCount == 1 && index == 0 ? 1 : sequence.replayCount(of: index) }

    /// Decodes frame `index` as it is stored, without anything below it; nil when it covers no pixel.
    public func decodeRawFrame(_ index: Int) throws(CoderError) -> PixelBuffer? {
        guard let frame = try frameInfo(index) else { throw .invalidArgument("there is no frame \(index)") }
        if frame.rect.isEmpty { return nil }
        try sequence.stand(at: index)
        let format = try pixelFormats()[0]
        try LimitCheck.examine(made: frame.rect.size, format, context.limits)
        let pixels = try pool.take(frame.rect.size, format, clean: true)
        guard try sequence.decode(CanvasPlace(pixels)) == .complete else {
            throw source.isComplete ? CoderError.truncated() : .needsInput
        }
        return pixels
    }

    // MARK: The picture

    /// Decodes a still, or an animation's first frame, in a format the coder delivers.
    ///
    /// The pixels are those of the whole canvas, decoded into their final place. Orientation is not applied.
    /// - Throws: `.truncated` when the data ends too early, `.needsInput` while the source may grow; call again then.
    public func decodeImage(preferring wanted: PixelFormat? = nil) throws(CoderError) -> PixelBuffer {
        try Self.again { () throws(CoderError) in
            guard try isWhole() else { return try sequence.picture(of: 0) }
            let pixels = try begin(wanted, clean: false)
            switch try fill(pixels, wantsPartial: false) {
            case .complete: return pixels
            case .partial: throw source.isComplete ? CoderError(.truncated, "the data ends too early") : .needsInput
            }
        }
    }

    /// Decodes as much of the picture as there is.
    ///
    /// Called again with the same session it goes on where it was: the cost of all calls together is close to that of one
    /// decode. Of an animation it is the first frame.
    /// - Returns: nil when nothing can be seen that could not be seen before. The pixels are drawn on by the next call:
    ///   copy what is to be kept.
    /// - Throws: what is wrong with the data, but not `.needsInput`; not `.truncated` either, once something can be seen.
    public func decodeAvailable(preferring wanted: PixelFormat? = nil) throws(CoderError) -> AvailablePicture? {
        do throws(CoderError) {
            let isWhole = try isWhole()
            if info.isAnimated || !isWhole {
                guard let part = try sequence.partialPicture() else { return nil }
                return AvailablePicture(pixels: part.pixels, changed: part.changed, isComplete: part.isComplete)
            }
            let isFirst = suspended == nil
            let pixels = try begin(wanted, clean: true)
            switch try fill(pixels, wantsPartial: true) {
            case .complete:
                return AvailablePicture(pixels: pixels, changed: PixelRect(info.size), isComplete: true)
            case .partial(let rect):
                let changed = isFirst ? PixelRect(info.size) : rect
                if changed.isEmpty { return nil }
                return AvailablePicture(pixels: pixels, changed: changed, isComplete: false)
            }
        } catch {
            if error.code == .needsInput { return nil }
            throw error
        }
    }

    /// Whether the first frame is the whole canvas, so that it needs no compositing.
    func isWhole() throws(CoderError) -> Bool {
        if try !sequence.meet(0) { throw CoderError(.corrupt, "there is no frame in it", coder: coder.id) }
        return sequence.timeline[0].rect == PixelRect(info.size)
    }

    /// The memory of the picture: a picture that waits for input is continued where it was begun.
    private func begin(_ wanted: PixelFormat?, clean: Bool) throws(CoderError) -> PixelBuffer {
        if let suspended { return suspended }
        let offered = try pixelFormats()
        let format = wanted.flatMap { offered.contains($0) ? $0 : nil } ?? offered[0]
        try LimitCheck.examine(made: info.size, format, context.limits)
        return try pool.take(info.size, format, clean: clean)
    }

    private func fill(_ pixels: PixelBuffer, wantsPartial: Bool) throws(CoderError) -> FrameOutcome {
        suspended = nil
        do throws(CoderError) {
            try sequence.stand(at: 0)
            let outcome = try sequence.decode(
                CanvasPlace(pixels), FrameRequest(wantsPartial: wantsPartial))
            if outcome != .complete { suspended = pixels }
            return outcome
        } catch {
            if error.code == .needsInput { suspended = pixels }
            throw error
        }
    }
}

/// What stands behind the frames that were found.
public enum FrameListEnd: Sendable, Hashable {
    /// Nothing: these are all.
    case complete
    /// More may come with more bytes.
    case needsInput
    /// Damage; what stands before it is not touched by that.
    case failure(CoderError)
}

/// As much of a picture as could be decoded.
public struct AvailablePicture: Sendable {
    /// What is not there yet is transparent, or black where the format has no alpha.
    public var pixels: PixelBuffer
    /// What has changed since the last time.
    public var changed: PixelRect
    public var isComplete: Bool
}
