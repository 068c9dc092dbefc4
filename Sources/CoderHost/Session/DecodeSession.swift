public import ImageModel
import ImageProcessing
public import PluginRuntime

/// An image that is decoded by one coder.
///
/// Opening a session reads the header and checks it against the limits before pixel memory is allocated.
///
/// - Concurrency: one thread at a time.
public final class DecodeSession {
    /// The coder in use.
    package let coder: CoderDescriptor
    /// The format as named by the coder.
    public let format: ImageFormat
    /// The properties of the selected item, which is the primary item until ``select(item:)``.
    public private(set) var info: ImageInfo
    /// The item that ``select(item:)`` has chosen; nil for the primary one.
    private var chosenItem: Int?
    /// Whether ``select(item:)`` has chosen another item than the primary one.
    package var hasChosen: Bool { chosenItem != nil }
    /// The index of the primary item, once it is known.
    private var primaryItem: Int?
    /// The index of the selected item.
    package var selectedItem: Int { chosenItem ?? primary }
    /// The index of the primary item.
    private var primary: Int {
        if let primaryItem { return primaryItem }
        guard info.hasItems || hasChosen, coder.roles.contains(.items), let items = try? items() else { return 0 }
        let index = items.first { $0.facts?.role == .primary }?.index ?? 0
        if source.isComplete { primaryItem = index }
        return index
    }
    /// The limits, options and warnings of the session.
    public let context: SessionContext
    let source: ImageSource
    private(set) var sequence: FrameSequence
    private let ranked: RankedCoder
    /// The items listed so far.
    var listedItems: [ListedItem]?
    private var settled: [MetadataBlob]?
    var shapeNotes = ShapeNotes()
    /// The pixels of an incomplete image that waits for input.
    private var suspended: PixelBuffer?
    /// The pool for buffers that the coder fills.
    let pool: PixelBufferPool

    /// Where the coder runs; nil for coders of the host and the application, which always run in this process.
    public var isolation: IsolationReport? { context.isolation }

    init(_ ranked: RankedCoder, _ source: ImageSource, _ context: SessionContext) throws(CoderError) {
        coder = ranked.descriptor
        format = ranked.format
        self.ranked = ranked
        self.source = source
        self.context = context
        let (decoder, info) = try Self.retryOnce { () throws(CoderError) in
            let decoder = try ranked.coder.makeDecoder(source, context)
            return (decoder, try decoder.readHeader())
        }
        self.info = info
        try LimitCheck.examine(info, source, context.limits, roles: ranked.descriptor.roles)
        pool = (decoder as? ImportedDecoder)?.pool ?? .shared
        sequence = Self.sequence(ranked, source, context, info, decoder, pool, item: nil)
    }

    private static func sequence(
        _ ranked: RankedCoder, _ source: ImageSource, _ context: SessionContext, _ info: ImageInfo,
        _ decoder: any FrameDecoder, _ pool: PixelBufferPool, item: Int?
    ) -> FrameSequence {
        FrameSequence(
            info, decoder, context, pool, isIncremental: ranked.descriptor.roles.contains(.incremental),
            costsByPart: LimitCheck.costsByPart(info, ranked.descriptor.roles),
            isComplete: { source.isComplete }
        ) { () throws(CoderError) in
            let decoder = try ranked.coder.makeDecoder(source, context)
            _ = try decoder.readHeader()
            if let item { try decoder.select(item: item) }
            return decoder
        }
    }

    /// Selects item `index` of the file, to which all later calls apply.
    ///
    /// - Throws: `.invalidArgument` if there is no such item; `.refused` if it cannot be decoded. The previous item
    ///   then stays selected.
    public func select(item index: Int) throws(CoderError) {
        let primary = self.primary
        if index == chosenItem ?? primary { return }
        guard coder.roles.contains(.items) else {
            throw .invalidArgument("there is no item \(index)", hint: "this format stores one image")
        }
        // Known frames belong to the previous item and its decoder.
        let decoder = try ranked.coder.makeDecoder(source, context)
        _ = try decoder.readHeader()
        guard try decoder.item(at: index) != nil else {
            throw .invalidArgument(
                "there is no item \(index)", hint: "coderhost info --items lists them, counted from 0")
        }
        try decoder.select(item: index)
        let chosen = try decoder.readHeader()
        try LimitCheck.examine(chosen, source, context.limits, roles: coder.roles)
        info = chosen
        chosenItem = index == primary ? nil : index
        settled = nil
        shapeNotes = ShapeNotes()
        suspended = nil
        sequence = Self.sequence(ranked, source, context, chosen, decoder, pool, item: index)
    }

    /// Retries an operation once if it failed for an external reason, such as a killed worker.
    static func retryOnce<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            guard error.isTransient else { throw error }
            return try body()
        }
    }

    /// Returns Exif, XMP, ICC and other metadata, unchanged except for an orientation that the coder applies to pixels, and
    /// for NUL bytes at the end of XMP.
    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let stored = try storedMetadata()
        return info.orientationApplied ? stored.map(\.upright) : stored
    }

    /// Returns the metadata as the file stores it, with the orientation that the format ignores.
    package func storedMetadata() throws(CoderError) -> [MetadataBlob] {
        try sequence.decoder().metadata().map { blob in
            blob.kind == .xmp ? MetadataBlob(.xmp, XMPPadding.removing(blob.bytes), key: blob.key) : blob
        }
    }

    /// Returns the metadata of a decoded image: cached for a complete source, so it is not read for every frame.
    ///
    /// Returns none while a growing source lacks its bytes, because the pixels that arrived can be displayed without it.
    func settledMetadata() throws(CoderError) -> [MetadataBlob] {
        if let settled { return settled }
        let isFinal = source.isComplete
        do throws(CoderError) {
            let all = try metadata()
            if isFinal { settled = all }
            return all
        } catch {
            guard error.code == .needsInput, !isFinal else { throw error }
            return []
        }
    }

    /// Returns the formats that the coder supports, the native one first.
    package func pixelFormats() throws(CoderError) -> [PixelFormat] { try sequence.decoder().pixelFormats() }

    /// The orientation that the caller must still apply to decoded pixels.
    package var pendingOrientation: Orientation {
        info.orientationApplied ? .up : info.orientation ?? .up
    }

    // MARK: Frames

    /// Returns the properties of every frame without decoding.
    ///
    /// - Throws: the error after the last complete frame; earlier frames can still be decoded.
    package func frames() throws(CoderError) -> [FrameInfo] {
        while try sequence.meetNext() != nil {}
        return knownFrames
    }

    /// The frames found so far; for a growing source, each call of ``findFrames()`` may add some.
    package var knownFrames: [FrameInfo] { (0..<knownFrameCount).map { sequence.timeline[$0] } }
    /// The number of frames found so far.
    package var knownFrameCount: Int { sequence.timeline.count }
    func knownFrame(_ index: Int) -> FrameInfo { sequence.timeline[index] }

    /// Looks for further frames in the available bytes and returns the state of the list.
    ///
    /// Frames already found do not change.
    package func findFrames() -> FrameListEnd {
        do throws(CoderError) {
            while try sequence.meetNext() != nil {}
            return .complete
        } catch {
            return error.code == .needsInput ? .needsInput : .failure(error)
        }
    }

    /// Returns the properties of frame `index`; nil if there are fewer frames.
    package func frameInfo(_ index: Int) throws(CoderError) -> FrameInfo? {
        if index < 0 { return nil }
        // A coder of stills is not asked for a second frame, because it would have to be reopened to decode the first
        // one. A coder of animations detects truncated data after a single frame.
        if index > 0, info.frameCount == 1, !coder.roles.contains(.animation) { return nil }
        guard try sequence.meet(index) else { return nil }
        return sequence.timeline[index]
    }

    /// Whether known frame `index` needs no earlier frame, so random access can start there.
    package func isKeyFrame(_ index: Int) -> Bool { sequence.timeline.isKeyFrame(index) }

    /// Decodes the composited frame `index`.
    ///
    /// The next frame costs one frame; any other frame is replayed from the nearest key frame. A buffer that the caller
    /// still holds is never modified.
    /// - Throws: `.invalidArgument` if there is no such frame; `.needsInput` if it may still arrive.
    package func decodeFrame(_ index: Int) throws(CoderError) -> (frame: FrameInfo, pixels: PixelBuffer) {
        try decodeFrame(index, keeping: { _ in false }, onTheWay: { _, _ in })
    }

    /// Decodes frame `index`, and passes on wanted frames that are composited on the way.
    func decodeFrame(
        _ index: Int, keeping wants: (Int) -> Bool, onTheWay keep: (FrameInfo, PixelBuffer) -> Void
    ) throws(CoderError) -> (frame: FrameInfo, pixels: PixelBuffer) {
        guard let frame = try frameInfo(index) else {
            throw .invalidArgument(
                "there is no frame \(index)",
                hint: "it has \(info.frameCount == 1 ? 1 : knownFrameCount), counted from 0")
        }
        // There may be later frames: the declared count can differ from the frames that a coder delivers.
        if info.frameCount == 1, index == 0 { return (frame, try decodeImage()) }
        let pixels = try Self.retryOnce { () throws(CoderError) in
            try sequence.image(of: index, keeping: wants, onTheWay: keep)
        }
        return (frame, pixels)
    }

    /// Returns how many frames must be drawn for known frame `index`: 1 unless a replay is needed.
    func replayCount(of index: Int) -> Int { info.frameCount == 1 && index == 0 ? 1 : sequence.replayCount(of: index) }

    /// Decodes frame `index` as stored, without compositing; nil if it covers no pixel.
    package func decodeRawFrame(_ index: Int) throws(CoderError) -> PixelBuffer? {
        guard let frame = try frameInfo(index) else { throw .invalidArgument("there is no frame \(index)") }
        if frame.rect.isEmpty { return nil }
        try sequence.stand(at: index)
        let format = try pixelFormats()[0]
        try LimitCheck.examine(decoded: frame.rect.size, format, source, context.limits)
        let pixels = try pool.take(frame.rect.size, format, clean: true)
        guard try sequence.decode(CanvasPlace(pixels)) == .complete else {
            throw source.isComplete ? CoderError.truncated() : .needsInput
        }
        return pixels
    }

    // MARK: The image

    /// Decodes a still, or the first frame of an animation, in a format that the coder supports.
    ///
    /// The pixels cover the whole canvas. Orientation is not applied.
    /// - Throws: `.truncated` for incomplete data, `.needsInput` while the source may grow; then call again.
    package func decodeImage(preferring wanted: PixelFormat? = nil) throws(CoderError) -> PixelBuffer {
        try Self.retryOnce { () throws(CoderError) in
            guard try isWhole() else { return try sequence.image(of: 0) }
            let pixels = try begin(wanted, clean: false)
            switch try fill(pixels, wantsPartial: false) {
            case .complete: return pixels
            case .partial: throw source.isComplete ? CoderError(.truncated, "the data ends too early") : .needsInput
            }
        }
    }

    /// Decodes the available part of the image.
    ///
    /// Repeated calls on the same session continue: all calls together cost about one decode. For an animation, this
    /// decodes the first frame.
    /// - Returns: nil if there is nothing new to display. The next call modifies the pixels, so copy them to keep
    ///   them.
    /// - Throws: the error of the data, but never `.needsInput`, and `.truncated` only if there is nothing to
    ///   display.
    package func decodeAvailable(preferring wanted: PixelFormat? = nil) throws(CoderError) -> AvailableImage? {
        do throws(CoderError) {
            let isWhole = try isWhole()
            if info.isAnimated || !isWhole {
                guard let part = try sequence.partialImage() else { return nil }
                return AvailableImage(pixels: part.pixels, changed: part.changed, isComplete: part.isComplete)
            }
            let isFirst = suspended == nil
            let pixels = try begin(wanted, clean: true)
            switch try fill(pixels, wantsPartial: true) {
            case .complete:
                return AvailableImage(pixels: pixels, changed: PixelRect(info.size), isComplete: true)
            case .partial(let rect):
                let changed = isFirst ? PixelRect(info.size) : rect
                if changed.isEmpty { return nil }
                return AvailableImage(pixels: pixels, changed: changed, isComplete: false)
            }
        } catch {
            if error.code == .needsInput { return nil }
            throw error
        }
    }

    /// Whether the first frame covers the whole canvas and needs no compositing.
    func isWhole() throws(CoderError) -> Bool {
        if try !sequence.meet(0) { throw CoderError(.corrupt, "the file has no frame", coder: coder.id) }
        return sequence.timeline[0].rect == PixelRect(info.size)
    }

    /// Returns the buffer of the image; continues an image that waited for input.
    private func begin(_ wanted: PixelFormat?, clean: Bool) throws(CoderError) -> PixelBuffer {
        if let suspended { return suspended }
        let offered = try pixelFormats()
        let format = wanted.flatMap { offered.contains($0) ? $0 : nil } ?? offered[0]
        try LimitCheck.examine(decoded: info.size, format, source, context.limits)
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

/// The state of the frame list after the last frame found.
package enum FrameListEnd: Sendable, Hashable {
    /// The list is complete.
    case complete
    /// More frames may arrive.
    case needsInput
    /// The data after the last frame is damaged; earlier frames are not affected.
    case failure(CoderError)
}

/// The available part of an image.
public struct AvailableImage: Sendable {
    /// The pixels; missing parts are transparent, or black if the format has no alpha.
    public var pixels: PixelBuffer
    /// The area that changed since the last call.
    public var changed: PixelRect
    /// Whether the image is complete.
    public var isComplete: Bool
}
