public import CoderPluginKit
public import ImageModel

/// Decodes GIF, frame by frame as stored; nothing is composited.
public final class GIFDecoder: AnimationDecoder {
    private let source: ByteSource
    private let limits: DecodeLimits
    private let host: HostServices
    private var scanner: GIFScanner
    private var info: ImageInfo?
    /// What is wrong behind the last frame that is whole; told when that frame is asked for.
    private var tailError: CoderError?
    private var nextIndex = 0
    private var current: GIFFrame?
    private var currentIndex = 0

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
            frameCount = scanner.frames.count
        }
        var info = ImageInfo(size: scanner.canvas, nativeFormat: .rgba8, hasAlpha: hasAlpha(frameCount))
        info.frameCount = frameCount
        info.isAnimated = frameCount.map { $0 > 1 } ?? (scanner.storedLoopCount != nil)
        info.bitDepth = bitDepth
        // The number stored is that of repetitions; without one the pictures are shown once.
        info.loopCount =
            switch scanner.storedLoopCount {
            case nil: .plays(1)
            case 0: .infinite
            case let count?: .plays(Int(count) + 1)
            }
        if let palette = scanner.globalPalette {
            let place = palette.lowerBound + 3 * Int(scanner.backgroundIndex)
            if place + 3 <= palette.upperBound {
                info.background = RGBAColor(red: source[place], green: source[place + 1], blue: source[place + 2])
            }
        }
        // Section 18: pixel width ÷ height = (aspect + 15) ÷ 64; density is its inverse.
        if scanner.aspect != 0 { info.density = .aspect(x: 64, y: UInt32(scanner.aspect) + 15) }
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        GIFMetadata(source: source, limits: limits, host: host).blobs(of: scanner)
    }

    public var pixelFormats: [PixelFormat] {
        info?.hasAlpha == false ? [.rgba8, .rgb8] : [.rgba8]
    }

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        while nextIndex >= scanner.frames.count {
            if let tailError { throw tailError }
            if try !scanner.advance() {
                scanner.takeWarnings().forEach(host.warn)
                return nil
            }
        }
        let frame = scanner.frames[nextIndex]
        current = frame
        currentIndex = nextIndex
        defer { nextIndex += 1 }
        let disposal: Disposal =
            switch frame.disposal {
            case 2: .background
            // 3 is section 23's "restore to previous"; 4 is what an early writer took for it.
            case 3, 4: .previous
            default: .keep
            }
        return FrameInfo(
            index: nextIndex, rect: frame.rect, duration: FrameDuration(UInt32(frame.delay), over: 100), blend: .over,
            disposal: disposal, hasAlpha: frame.transparentIndex != nil, isIndependent: true)
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        while index >= scanner.frames.count {
            if let tailError { throw tailError }
            if try !scanner.advance() {
                throw .invalidArgument("there is no frame \(index)", hint: "there are \(scanner.frames.count)")
            }
        }
        nextIndex = max(0, index)
        return nextIndex
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let current, surface.size == current.rect.size, pixelFormats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not fit the frame")
        }
        let decoder = GIFFrameDecoder(source: source, host: host, frame: current, isFirst: currentIndex == 0)
        try decoder.decode(into: surface)
        return .complete
    }

    // MARK: Facts

    private func scanAll() throws(CoderError) {
        do throws(CoderError) {
            while try scanner.advance() {
                if scanner.frames.count % 256 == 0 { try host.checkCancellation() }
            }
        } catch {
            guard error.code == .truncated || error.code == .corrupt else { throw error }
            if scanner.frames.isEmpty {
                // The rows that are there are worth showing; decode tells whether some are missing.
                guard error.code == .truncated, scanner.keepOpenFrame() else { throw error }
                return
            }
            tailError = error
        }
    }

    private func hasAlpha(_ frameCount: Int?) -> Bool {
        guard frameCount != nil, let first = scanner.frames.first else { return true }
        if !first.rect.contains(PixelRect(scanner.canvas)) { return true }
        return scanner.frames.contains { $0.transparentIndex != nil || scanner.frames.count > 1 && $0.disposal == 2 }
    }

    /// Bits of an index of the largest palette.
    private var bitDepth: Int {
        let sizes = (scanner.frames + [scanner.openFrame].compactMap { $0 }).map { ($0.palette?.count ?? 768) / 3 }
        return (sizes.max() ?? 256).trailingZeroBitCount
    }
}
