public import CoderPluginKit
public import ImageModel
import WebPCodec

/// Decodes animated WebP, frame by frame as stored; nothing is composited.
///
/// - Source: RFC 9649 (container and lossless bitstream); RFC 6386 (VP8).
public final class AWebPDecoder: AnimationDecoder {
    private let session: DecoderSession
    private var scanner: AWebPScanner
    private var info: ImageInfo?
    /// The error behind the last complete frame; thrown when the caller requests the frame after it.
    private var tailError: CoderError?
    private var nextIndex = 0
    private var current: AWebPFrame?
    private var currentIndex = 0
    /// The first frame, decoded while it arrives.
    private var run: Run?
    private var isWarm = false

    private struct Run {
        var decompressor: WebPDecompressor
        var format: PixelFormat
        var reserved: Int
    }

    public init(_ session: DecoderSession) throws(CoderError) {
        self.session = session
        scanner = AWebPScanner(session)
    }

    // MARK: Facts

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        let isComplete = session.source.isComplete
        if scanner.frames.isEmpty { try findFirstFrame() }
        if isComplete { try scanAll() }
        guard let first = scanner.frames.first ?? scanner.openFrame else { throw .corrupt("the file has no frame") }

        var info = ImageInfo(
            size: scanner.canvas, nativeFormat: .rgba8, hasAlpha: !isComplete || showsAlpha,
            isLossy: isComplete ? scanner.frames.contains { !$0.isLossless } : !first.isLossless)
        info.frameCount = isComplete ? max(1, scanner.frames.count) : nil
        info.isAnimated = info.frameCount != 1
        info.loopCount = scanner.storedLoopCount.map { $0 == 0 ? .infinite : .plays($0) } ?? .unknown
        info.background = scanner.background
        if let exif = try bytes(.exif) { info.orientation = ExifOrientation.read(Self.tiff(exif)) }
        info.color.hasProfile = scanner.range(of: .profile) != nil
        self.info = info
        return info
    }

    private func findFirstFrame() throws(CoderError) {
        do throws(CoderError) {
            if try !scanner.advance() { throw CoderError.corrupt("the file has no frame") }
        } catch {
            // Parts of the first frame can be shown.
            let isShort = error.code == .needsInput || error.code == .truncated
            guard isShort, scanner.openFrame != nil else { throw error }
            if error.code == .truncated { tailError = error }
        }
    }

    private func scanAll() throws(CoderError) {
        do throws(CoderError) {
            if tailError != nil { return }
            while try scanner.advance() {
                if scanner.frames.count % 256 == 0 { try session.host.checkCancellation() }
            }
        } catch {
            guard error.code == .truncated || error.code == .corrupt else { throw error }
            tailError = error
        }
    }

    /// Whether a part of the canvas is transparent.
    private var showsAlpha: Bool {
        guard let first = scanner.frames.first, first.rect == PixelRect(scanner.canvas), !first.hasAlpha else {
            return true
        }
        return scanner.frames.contains {
            $0.disposal == .background || $0.hasAlpha && $0.blend(on: scanner.canvas) == .source
        }
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        if let exif = try bytes(.exif) { blobs.append(MetadataBlob(.exif, Self.tiff(exif))) }
        if let xmp = try bytes(.xmp) { blobs.append(MetadataBlob(.xmp, xmp)) }
        if let profile = try bytes(.profile) { blobs.append(MetadataBlob(.icc, profile)) }
        return blobs
    }

    private func bytes(_ tag: AWebPChunk.Tag) throws(CoderError) -> [UInt8]? {
        guard let range = scanner.range(of: tag) else { return nil }
        let allowed = session.limits.maxMetadataBytes
        if allowed > 0, range.count > allowed {
            throw .limit("metadata", allowed: allowed, requested: range.count)
        }
        return session.source.bytes(range)
    }

    /// Quirk: some writers keep the prefix that Exif data has in a JPEG segment.
    private static func tiff(_ exif: [UInt8]) -> [UInt8] {
        exif.starts(with: Array("Exif\0\0".utf8)) ? Array(exif.dropFirst(6)) : exif
    }

    // MARK: Frames

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        guard try find(nextIndex) else { return nil }
        let frame = scanner.frames.isEmpty ? scanner.openFrame : scanner.frames[nextIndex]
        guard let frame else { throw .needsInput }
        if nextIndex != currentIndex { closeRun() }
        current = frame
        currentIndex = nextIndex
        nextIndex += 1
        return FrameInfo(
            index: currentIndex, rect: frame.rect, duration: .milliseconds(frame.milliseconds),
            blend: frame.blend(on: scanner.canvas), disposal: frame.disposal, hasAlpha: frame.hasAlpha,
            blendsInFixedPoint: true)
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        guard index >= 0, try find(index) else {
            throw .invalidArgument("there is no frame \(index)", hint: "there are \(scanner.frames.count)")
        }
        nextIndex = index
        closeRun()
        return index
    }

    /// Whether frame `index` is available; the first is available as soon as parts of it can be shown.
    private func find(_ index: Int) throws(CoderError) -> Bool {
        while index >= scanner.frames.count {
            if index == 0, scanner.openFrame != nil { return true }
            if let tailError { throw tailError }
            if try !scanner.advance() { return false }
        }
        return true
    }

    // MARK: Pixels

    public var pixelFormats: [PixelFormat] {
        [.rgba8, .bgra8, PixelFormat(.rgba, alpha: .premultiplied), PixelFormat(.bgra, alpha: .premultiplied)]
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        guard let current, surface.size == current.rect.size, pixelFormats.contains(surface.format),
            request.scaledSize == nil || request.scaledSize == surface.size
        else { throw CoderError(.misuse, "the surface does not have the size or format of the frame") }
        if let region = request.region, region != PixelRect(surface.size) { throw .unsupported("a region") }
        try session.host.checkCancellation()

        let area = surface.size.area ?? 0
        let available = session.source.available
        let isWhole = current.bytes.upperBound <= available
        if isWhole, run == nil, area <= Self.pixelsPerSlice {
            // A lossless frame, its transforms and its cache.
            if !isWarm { WebPDecompressor.expect(bytes: area * 8) }
            isWarm = true
            let reserved = Self.ownBytes(current)
            try session.host.reserve(bytes: reserved)
            try WebPDecompressor.decode(
                session.source, current.bytes, into: surface, isOpaque: current.fillsAlpha(on: scanner.canvas))
            try session.host.reserve(bytes: -reserved)
            return .complete
        }
        return try decodeInParts(current, until: min(current.bytes.upperBound, available), request, surface)
    }

    /// Continues a frame that is still arriving, or that is so large that the caller must be able to cancel it.
    private func decodeInParts(
        _ frame: AWebPFrame, until end: Int, _ request: DecodeRequest, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        if run?.format != surface.format || run?.decompressor.isFilling(surface) != true {
            closeRun()
            let reserved = Self.ownBytes(frame)
            try session.host.reserve(bytes: reserved)
            run = Run(
                decompressor: try WebPDecompressor(
                    into: surface, rect: PixelRect(surface.size), isOpaque: frame.fillsAlpha(on: scanner.canvas),
                    scales: false, threads: false),
                format: surface.format, reserved: reserved)
        }
        guard let decompressor = run?.decompressor, end > frame.start else { throw .needsInput }
        let isComplete = session.source.isComplete
        let first = decompressor.rows
        if try feed(decompressor, frame.start..<end, area: surface.size.area ?? 0) {
            closeRun()
            return .complete
        }
        let rows = min(decompressor.rows, surface.size.height)
        let isLast = isComplete || end == frame.bytes.upperBound
        if isLast { closeRun() }
        if request.wantsPartial, rows > first {
            return .partial(PixelRect(x: 0, y: first, width: surface.size.width, height: rows - first))
        }
        throw isLast ? .truncated("the file ends at row \(rows) of \(surface.size.height)") : .needsInput
    }

    private func feed(
        _ decompressor: WebPDecompressor, _ range: Range<Int>, area: Int
    ) throws(CoderError) -> Bool {
        let slices = 1 + area / Self.pixelsPerSlice
        for slice in 1...slices {
            try session.host.checkCancellation()
            let end = slice == slices ? range.upperBound : range.lowerBound + range.count / slices * slice
            if try decompressor.update(session.source, range.lowerBound..<end) { return true }
            session.host.progress(slice, of: slices)
        }
        return false
    }

    private func closeRun() {
        if let run { try? session.host.reserve(bytes: -run.reserved) }
        run = nil
    }

    /// Lossless data is decoded to ARGB first; alpha of a lossy image has its own plane.
    private static func ownBytes(_ frame: AWebPFrame) -> Int {
        let area = frame.rect.size.area ?? 0
        return frame.isLossless ? area * 4 : frame.hasAlpha ? area : 0
    }

    /// Evidence: about 10 ms of decoding on a machine of 2026.
    private static let pixelsPerSlice = 2_000_000
}
