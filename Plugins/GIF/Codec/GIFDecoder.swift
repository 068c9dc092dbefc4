public import CoderPluginKit
public import ImageModel

/// Decodes GIF, frame by frame as stored; nothing is composited.
///
/// Reports the first frame as soon as it has begun, and its rows as they arrive; other frames when they are complete.
public final class GIFDecoder: AnimationDecoder {
    private let source: ByteSource
    private let limits: DecodeLimits
    private let host: HostServices
    private var scanner: GIFScanner
    private let lzw = LZWDecoder()
    private var info: ImageInfo?
    /// The error behind the last complete frame; thrown when the caller requests the frame after it.
    private var tailError: CoderError?
    private var nextIndex = 0
    private var currentIndex: Int?
    /// The decode in progress.
    private var run: GIFFrameDecoder?

    public init(_ session: DecoderSession) throws(CoderError) {
        source = session.source
        limits = session.limits
        host = session.host
        scanner = GIFScanner(session.source, limits: session.limits)
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        try scanner.readScreen()
        try scanner.findFirstFrame()
        var frameCount: Int?
        if source.isComplete {
            try scanAll()
            try requirePixels()
            frameCount = scanner.frames.count
        }
        var info = ImageInfo(size: scanner.screen.canvas, nativeFormat: .rgba8, hasAlpha: hasAlpha(frameCount))
        info.frameCount = frameCount
        info.isAnimated = frameCount.map { $0 > 1 } ?? (scanner.extensions.loopCount != nil)
        // The index bits of the largest palette.
        info.bitDepth = (scanner.traits.largestPalette / 3).trailingZeroBitCount
        // The stored number counts repetitions; without it the images are played once.
        info.loopCount =
            switch scanner.extensions.loopCount {
            case nil: .plays(1)
            case 0: .infinite
            case let count?: .plays(Int(count) + 1)
            }
        if let palette = scanner.screen.globalPalette {
            let place = palette.lowerBound + 3 * Int(scanner.screen.backgroundIndex)
            if place + 3 <= palette.upperBound {
                info.background = RGBAColor(red: source[place], green: source[place + 1], blue: source[place + 2])
            }
        }
        // Section 18: pixel width ÷ height = (aspect + 15) ÷ 64; density is its inverse.
        if scanner.screen.aspect != 0 { info.density = .aspect(x: 64, y: UInt32(scanner.screen.aspect) + 15) }
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        GIFMetadata(source: source, limits: limits, host: host).blobs(of: scanner)
    }

    public var pixelFormats: [PixelFormat] {
        info?.hasAlpha == false && !scanner.traits.hasTransparentIndex ? [.rgba8, .rgb8] : [.rgba8]
    }

    // MARK: Frames

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        run = nil
        guard try find(nextIndex), let frame = frame(nextIndex) else {
            try requirePixels()
            scanner.takeWarnings().forEach(host.warn)
            return nil
        }
        currentIndex = nextIndex
        defer { nextIndex += 1 }
        return FrameInfo(
            index: nextIndex, rect: frame.rect, duration: FrameDuration(UInt32(frame.control.delay), over: 100),
            blend: frame.blend(on: scanner.screen.canvas), disposal: frame.disposal,
            hasAlpha: frame.control.transparentIndex != nil, isIndependent: true)
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        run = nil
        let index = max(0, index)
        guard try find(index) else {
            throw .invalidArgument("there is no frame \(index)", hint: "there are \(scanner.frames.count)")
        }
        currentIndex = nil
        nextIndex = index
        return index
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let index = currentIndex, let frame = frame(index), surface.size == frame.rect.size,
            pixelFormats.contains(surface.format)
        else { throw CoderError(.misuse, "the surface does not have the size or format of the frame") }
        let run: GIFFrameDecoder
        if let unfinished = self.run, unfinished.isFilling(surface) {
            run = unfinished
        } else {
            let target = GIFFrameDecoder.Target(
                frame: frame, palette: frame.palette ?? scanner.screen.globalPalette, isFirst: index == 0,
                rest: rest(of: frame, isFirst: index == 0),
                isCoarse: request.wantsPartial && frame.dataEnd == nil)
            run = try GIFFrameDecoder(target, source: source, host: host, lzw: lzw, surface)
            self.run = run
        }
        let outcome = try run.decode(into: surface, upTo: frame.dataEnd, wantsPartial: request.wantsPartial)
        if outcome == .complete { self.run = nil }
        return outcome
    }

    /// Walks on until frame `index` is available; false if there is no such frame.
    private func find(_ index: Int) throws(CoderError) -> Bool {
        while frame(index) == nil {
            if let tailError { throw tailError }
            do throws(CoderError) {
                if try !scanner.advance() { return false }
            } catch {
                // The rows of a cut first frame can be shown; decode reports whether rows are missing.
                guard error.code == .truncated, scanner.frames.isEmpty, scanner.keepOpenFrame() else { throw error }
            }
        }
        return true
    }

    /// Returns an available frame: the first once it has begun, any other once it is complete.
    private func frame(_ index: Int) -> GIFFrame? {
        if index < scanner.frames.count { return scanner.frames[index] }
        return index == 0 ? scanner.openFrame : nil
    }

    /// Returns the fill color of missing pixels. It depends on this frame alone, so that a growing source gives the
    /// same pixels.
    private func rest(of frame: GIFFrame, isFirst: Bool) -> GIFFrameDecoder.Rest {
        let isOver = frame.blend(on: scanner.screen.canvas) == .over
        if isOver, !isFirst { return .transparent }
        // A frame that covers the whole canvas must not depend on the pixels below it.
        guard frame.rect.contains(PixelRect(scanner.screen.canvas)) else { return isFirst ? .transparent : .kept }
        return frame.control.transparentIndex == nil ? .opaque : .transparent
    }

    // MARK: Facts

    /// Refuses a file whose frames are all without area, once all are known.
    private func requirePixels() throws(CoderError) {
        guard let first = scanner.frames.first, scanner.frames.allSatisfy(\.rect.isEmpty) else { return }
        let words = scanner.frames.count == 1 ? "the only frame is \(first.rect.size)" : "all frames are without area"
        throw .corrupt("the file has no pixels: \(words)")
    }

    private func scanAll() throws(CoderError) {
        do throws(CoderError) {
            while try scanner.advance() {
                if scanner.frames.count % 256 == 0 { try host.checkCancellation() }
            }
        } catch {
            guard error.code == .truncated || error.code == .corrupt else { throw error }
            if scanner.frames.isEmpty {
                guard error.code == .truncated, scanner.keepOpenFrame() else { throw error }
                return
            }
            tailError = error
        }
    }

    /// Whether a pixel of a composited frame may be transparent. The missing rows of a cut first frame are transparent.
    private func hasAlpha(_ frameCount: Int?) -> Bool {
        guard frameCount != nil, let first = scanner.frames.first else { return true }
        return !first.rect.contains(PixelRect(scanner.screen.canvas)) || first.control.transparentIndex != nil
            || first.dataEnd == nil || scanner.traits.uncovers
    }
}
