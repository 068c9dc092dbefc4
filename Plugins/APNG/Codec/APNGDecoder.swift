public import CoderPluginKit
public import ImageModel
internal import PNGCodec

/// Decodes animated PNG, frame by frame as stored; nothing is composited.
///
/// An animation without a single usable frame is shown as its default image, as a viewer would that knows PNG alone.
public final class APNGDecoder: AnimationDecoder {
    private let file: PNGFile
    private let source: ByteSource
    private let limits: DecodeLimits
    private let host: HostServices
    private var info: ImageInfo?
    private var control: APNGAnimationControl?
    private var scanner: APNGScanner?
    /// Stands for the animation that is none.
    private var still: APNGFrame?
    /// What is wrong behind the last frame that is whole; told when the one behind it is asked for.
    private var tailError: CoderError?
    private var hasWarned = false
    private var nextIndex = 0
    private var current: APNGFrame?
    private var currentRect = PixelRect(.zero)
    private var engine: PNGEngine?
    private var picture: PNGPicture?

    public init(_ session: DecoderSession) throws(CoderError) {
        file = PNGFile(session)
        source = session.source
        limits = session.limits
        host = session.host
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var info = try file.readHeader()
        guard let chunk = file.animationControl else { throw .notMine("there is no animation in this picture") }
        do throws(CoderError) {
            control = try APNGAnimationControl(chunk, in: source)
        } catch {
            becomeStill(because: error)
        }
        scanner = APNGScanner(source, canvas: info.size, maxFrames: limits.maxFrames)
        if source.isComplete, still == nil { try scanAll() }

        if still != nil {
            info.isAnimated = false
        } else if let control {
            let count = source.isComplete ? scanner?.frames.count : nil
            info.frameCount = count
            info.isAnimated = count.map { $0 > 1 } ?? (control.frameCount > 1)
            info.loopCount = control.plays == 0 ? .infinite : .plays(Int(control.plays))
            // While frames may come, one of them may leave a part of the canvas empty.
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
        guard let frame = try frame(at: nextIndex) else { return nil }
        let index = nextIndex
        nextIndex += 1
        current = frame
        picture = nil
        let described = try describe(frame, at: index)
        currentRect = described.rect
        return described
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        let index = max(0, index)
        if index > 0, try frame(at: index) == nil {
            throw .invalidArgument("there is no frame \(index)", hint: "there are \(scanner?.frames.count ?? 1)")
        }
        nextIndex = index
        picture = nil
        return index
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let current, surface.size == currentRect.size, pixelFormats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not fit the frame")
        }
        let picture = try pictureGoingOn(with: current, in: surface, wantsPartial: request.wantsPartial)
        let outcome = try picture.decode(wantsPartial: request.wantsPartial)
        if outcome == .complete { file.passWarnings() }
        return outcome
    }

    /// The picture that was begun, or a new one where the surface is another one.
    private func pictureGoingOn(
        with frame: APNGFrame, in surface: borrowing Surface, wantsPartial: Bool
    ) throws(CoderError) -> PNGPicture {
        if let picture, picture.fits(surface) { return picture }
        if engine == nil { engine = try file.makeEngine() }
        guard let engine else { throw CoderError(.misuse, "the header was not read") }
        let cursor = PNGCursor(
            source, at: frame.data, kind: frame.isDefaultImage ? .imageData : .fdAT, isFrame: frame.control != nil)
        let fresh = try PNGPicture(
            cursor, of: source, by: engine, host: host, isInterlaced: file.isInterlaced, size: currentRect.size,
            into: surface, wantsPartial: wantsPartial)
        picture = fresh
        return fresh
    }

    // MARK: Where they stand

    /// Frame number `index`, as far as the walk has to go for it; nil behind the last.
    private func frame(at index: Int) throws(CoderError) -> APNGFrame? {
        if let still { return index == 0 ? still : nil }
        while let count = scanner?.frames.count, index >= count {
            if let tailError { throw tailError }
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
                // The first frame may be looked at while it arrives.
                if error.code == .needsInput, index == 0, let frame = scanner?.openFrame { return frame }
                try settle(error)
                if let still { return index == 0 ? still : nil }
            }
        }
        return scanner?.frames[index]
    }

    private func scanAll() throws(CoderError) {
        var index = 0
        while tailError == nil, still == nil {
            do throws(CoderError) {
                if try frame(at: index) == nil { return }
            } catch {
                // What is wrong with a later frame is told when that one is asked for.
                if tailError == nil { throw error }
            }
            index += 1
            if index % 256 == 0 { try host.checkCancellation() }
        }
    }

    /// Ends the walk at damage, with the frames that there are.
    private func settle(_ error: CoderError) throws(CoderError) {
        guard error.code == .truncated || error.code == .corrupt else { throw error }
        // What there is of the first frame is worth showing; decode tells whether some is missing.
        if scanner?.frames.isEmpty == true { scanner?.keepOpenFrame() }
        if scanner?.frames.isEmpty == true { becomeStill(because: error) } else { tailError = error }
    }

    private func becomeStill(because error: CoderError) {
        guard let data = file.firstData else { return }
        host.warn("\(error.message); the picture that other viewers see is shown instead")
        still = APNGFrame(control: nil, data: data, isDefaultImage: true)
    }

    private func warnOfCount(_ count: Int) {
        guard let control, !hasWarned, count != Int(control.frameCount) else { return }
        hasWarned = true
        host.warn("the file says that it has \(control.frameCount) frames, and has \(count)")
    }

    // MARK: Facts

    private func describe(_ frame: APNGFrame, at index: Int) throws(CoderError) -> FrameInfo {
        guard let info, let scanner else { throw CoderError(.misuse, "the header was not read") }
        let hasAlpha = info.nativeFormat.hasTransparency
        guard let offset = frame.control else {
            return FrameInfo(index: index, rect: PixelRect(info.size), hasAlpha: hasAlpha)
        }
        let control = try scanner.control(at: offset)
        // Nothing is below the first frame, so it cannot be blended with it, nor can it be brought back.
        let disposal = index == 0 && control.disposal == .previous ? .background : control.disposal
        return FrameInfo(
            index: index, rect: control.rect, duration: control.duration,
            blend: index == 0 || !hasAlpha ? .source : control.blend, disposal: disposal, hasAlpha: hasAlpha)
    }

    /// Whether a part of the canvas is seen that no frame covers.
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
