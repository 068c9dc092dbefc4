public import CoderPluginKit
public import ImageModel
internal import PNGCodec

/// Decodes animated PNG, frame by frame as stored; nothing is composited.
///
/// If no frame is usable, shows the default image, as a viewer without APNG support does.
public final class APNGDecoder: AnimationDecoder {
    private let file: PNGFile
    private let session: DecoderSession
    private var info: ImageInfo?
    private var control: APNGAnimationControl?
    private var scanner: APNGScanner?
    /// The default image, shown if the animation has no usable frame.
    private var still: APNGFrame?
    private var tail = Tail()
    private var position = Position()
    private var engine: PNGEngine?
    private var image: PNGImage?

    /// The end of the frames.
    private struct Tail {
        /// The error behind the last complete frame; thrown when the caller requests the frame after it.
        var error: CoderError?
        /// Whether a warning about the number of frames was passed on.
        var hasWarned = false
    }

    /// The place in the sequence of frames.
    private struct Position {
        var nextIndex = 0
        /// The frame that `decode` delivers.
        var frame: APNGFrame?
        var rect = PixelRect(.zero)
    }

    public init(_ session: DecoderSession) throws(CoderError) {
        file = PNGFile(session)
        self.session = session
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var info = try file.readHeader()
        guard let chunk = file.animationControl else { throw .notMine("the image is not animated") }
        do throws(CoderError) {
            control = try APNGAnimationControl(chunk, in: session.source)
        } catch {
            becomeStill(because: error)
        }
        scanner = APNGScanner(session.source, canvas: info.size, maxFrames: session.limits.maxFrames)
        if session.source.isComplete, still == nil { try scanAll() }

        if still != nil {
            info.isAnimated = false
        } else if let control {
            let count = session.source.isComplete ? scanner?.frames.count : nil
            info.frameCount = count
            info.isAnimated = count.map { $0 > 1 } ?? (control.frameCount > 1)
            info.loopCount = control.plays == 0 ? .infinite : .plays(Int(control.plays))
            // As long as frames may arrive, one of them may leave a part of the canvas transparent.
            if count == nil { info.hasAlpha = true }
            if try showsCanvas(of: info.size) { info.hasAlpha = true }
        }
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] { try file.metadata() }

    public var pixelFormats: [PixelFormat] { file.pixelFormats }

    // MARK: Frames

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        guard let frame = try frame(at: position.nextIndex) else { return nil }
        let index = position.nextIndex
        position.nextIndex += 1
        position.frame = frame
        image = nil
        let described = try describe(frame, at: index)
        position.rect = described.rect
        return described
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        let index = max(0, index)
        if index > 0, try frame(at: index) == nil {
            throw .invalidArgument("there is no frame \(index)", hint: "there are \(scanner?.frames.count ?? 1)")
        }
        position.nextIndex = index
        image = nil
        return index
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let current = position.frame, surface.size == position.rect.size, pixelFormats.contains(surface.format)
        else {
            throw CoderError(.misuse, "the surface does not have the size or format of the frame")
        }
        let image = try imageGoingOn(with: current, in: surface, wantsPartial: request.wantsPartial)
        let outcome = try image.decode(wantsPartial: request.wantsPartial)
        if outcome == .complete { file.passWarnings() }
        return outcome
    }

    /// Returns the engine's current image, or begins a new one for another surface.
    private func imageGoingOn(
        with frame: APNGFrame, in surface: borrowing Surface, wantsPartial: Bool
    ) throws(CoderError) -> PNGImage {
        if let image, image.fits(surface) { return image }
        if engine == nil { engine = try file.makeEngine() }
        guard let engine else { throw CoderError(.misuse, "the header was not read") }
        let cursor = PNGCursor(
            session.source, at: frame.data, kind: frame.isDefaultImage ? .imageData : .fdAT,
            isFrame: frame.control != nil)
        let fresh = try PNGImage(
            cursor, of: session.source, by: engine, host: session.host, isInterlaced: file.isInterlaced,
            size: position.rect.size,
            into: surface, wantsPartial: wantsPartial)
        image = fresh
        return fresh
    }

    // MARK: Positions

    /// Returns frame number `index`, walking the file as far as needed; nil behind the last frame.
    private func frame(at index: Int) throws(CoderError) -> APNGFrame? {
        if let still { return index == 0 ? still : nil }
        while let count = scanner?.frames.count, index >= count {
            if let error = tail.error { throw error }
            do throws(CoderError) {
                if try scanner?.advance() != true {
                    if count > 0 {
                        warnOfCount(count)
                        return nil
                    }
                    becomeStill(because: .corrupt("the animation has no frames"))
                    return still
                }
            } catch {
                // The caller may decode the first frame while it arrives.
                if error.code == .needsInput, index == 0, let frame = scanner?.openFrame { return frame }
                try settle(error)
                if let still { return index == 0 ? still : nil }
            }
        }
        return scanner?.frames[index]
    }

    private func scanAll() throws(CoderError) {
        var index = 0
        while tail.error == nil, still == nil {
            do throws(CoderError) {
                if try frame(at: index) == nil { return }
            } catch {
                // The caller gets the damage of a later frame when it requests that frame.
                if tail.error == nil { throw error }
            }
            index += 1
            if index % 256 == 0 { try session.host.checkCancellation() }
        }
    }

    /// Ends the walk at damage and keeps the frames before it.
    private func settle(_ error: CoderError) throws(CoderError) {
        guard error.code == .truncated || error.code == .corrupt else { throw error }
        // A part of the first frame can be shown; decode reports whether rows are missing.
        if scanner?.frames.isEmpty == true { scanner?.keepOpenFrame() }
        if scanner?.frames.isEmpty == true { becomeStill(because: error) } else { tail.error = error }
    }

    private func becomeStill(because error: CoderError) {
        guard let data = file.firstData else { return }
        session.host.warn("\(error.message); the image that other viewers see is shown instead")
        still = APNGFrame(control: nil, data: data, isDefaultImage: true)
    }

    private func warnOfCount(_ count: Int) {
        guard let control, !tail.hasWarned, count != Int(control.frameCount) else { return }
        tail.hasWarned = true
        session.host.warn("the header announces \(control.frameCount) frames; \(count) were found")
    }

    // MARK: Facts

    private func describe(_ frame: APNGFrame, at index: Int) throws(CoderError) -> FrameInfo {
        guard let info, let scanner else { throw CoderError(.misuse, "the header was not read") }
        let hasAlpha = info.nativeFormat.hasTransparency
        guard let offset = frame.control else {
            return FrameInfo(index: index, rect: PixelRect(info.size), hasAlpha: hasAlpha)
        }
        let control = try scanner.control(at: offset)
        // The first frame has no canvas below it, so it cannot be blended, and there is nothing to restore.
        let disposal = index == 0 && control.disposal == .previous ? .background : control.disposal
        return FrameInfo(
            index: index, rect: control.rect, duration: control.duration,
            blend: index == 0 || !hasAlpha ? .source : control.blend, disposal: disposal, hasAlpha: hasAlpha)
    }

    /// Whether a part of the canvas stays that no frame covers.
    private func showsCanvas(of size: PixelSize) throws(CoderError) -> Bool {
        guard let scanner else { return false }
        for (index, frame) in scanner.frames.enumerated() {
            guard let offset = frame.control else { continue }
            let control = try scanner.control(at: offset)
            if index == 0, control.rect != PixelRect(size) { return true }
            let isLast = index == scanner.frames.count - 1
            if !isLast, control.disposal == .background || index == 0 && control.disposal == .previous { return true }
        }
        return false
    }
}
