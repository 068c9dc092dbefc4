internal import AVIFShim
public import CoderPluginKit
public import ImageModel

/// Decodes AVIF: stills and sequences.
///
/// Rotation, mirroring and cropping belong to the format, so pixels come out upright and the Exif orientation is only
/// for show. Every frame is a full canvas that replaces the one before; what it depends on is decoded here.
///
/// - Source: AV1 Image File Format 1.1; ISO/IEC 23008-12:2022 (HEIF); ISO/IEC 14496-12:2022.
public final class AVIFDecoder: AnimationDecoder, ThumbnailDecoder {
    private let session: DecoderSession
    private var opened: Opened?
    /// The frame that `nextFrame` answers next.
    private var next = 0
    /// The frame whose planes libavif holds.
    private var decoded: Int?
    private var hasReserved = false

    /// The file once its boxes are read.
    private struct Opened {
        let reader: AVIFReader
        /// Bytes that libavif and dav1d take to decode.
        let memory: Int
        let picture: Picture
        let track: Track?
        let info: ImageInfo
        let thumbnails: [Thumbnail]
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Facts

    public func readHeader() throws(CoderError) -> ImageInfo { try open().info }

    public var pixelFormats: [PixelFormat] { opened?.picture.formats ?? [] }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let limit = session.limits.maxMetadataBytes
        var blobs: [MetadataBlob] = []
        if let profile = try open().reader.blob(.icc, limit: limit) { blobs.append(MetadataBlob(.icc, profile)) }
        let reader = try metadataReader()
        if let exif = try reader.blob(.exif, limit: limit) {
            if let tiff = Self.tiff(exif) {
                blobs.append(MetadataBlob(.exif, tiff))
            } else {
                session.host.warn("Exif without a TIFF header is left out")
            }
        }
        if let xmp = try reader.blob(.xmp, limit: limit) { blobs.append(MetadataBlob(.xmp, xmp)) }
        return blobs
    }

    private func open() throws(CoderError) -> Opened {
        if let opened { return opened }
        let isSequence = try Container.brands(session.source)
        let tiles = try explained { () throws(CoderError) in try ItemExtents.check(session.source) }
        let reader = try AVIFReader(session, maxFrames: session.limits.maxFrames, threads: threads)
        let facts = try explained { () throws(CoderError) in try reader.parse() }
        let picture = try Picture(facts, session)
        // The stream is asked for no more than the boxes promise, but for a small one that is padded or scaled.
        let area = picture.stored.area ?? 0
        let allowed = session.limits.maxPixels > 0 ? session.limits.maxPixels : .max
        let memory = picture.libraryMemory(frames: Int(facts.frames), tiles: tiles)
        try reader.restart(maxPixels: min(area * 8 + 65_536, allowed), memory: memory)

        let thumbnails = ThumbnailPlace.all(in: session.source).compactMap {
            Thumbnail($0, of: picture.stored, session)
        }
        let track = isSequence ? Track.shown(in: session.source) : nil
        let frames = Int(facts.frames)
        let info = ImageInfo(
            size: picture.size, nativeFormat: picture.formats[0], bitDepth: picture.depth, hasAlpha: picture.hasAlpha,
            orientation: storedOrientation(), orientationApplied: true, frameCount: frames,
            loopCount: frames > 1 ? track?.loopCount ?? .unknown : .unknown, isAnimated: frames > 1, isLossy: true,
            color: ColorDescription(codePoints: picture.codePoints, hasProfile: picture.hasProfile),
            hasItems: !thumbnails.isEmpty)
        let made = Opened(
            reader: reader, memory: memory, picture: picture, track: frames > 1 ? track : nil, info: info, thumbnails: thumbnails)
        opened = made
        return made
    }

    /// Tells what is cut from what is broken, and fills in the numbers of a limit.
    private func explained<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            switch error.code {
            case .corrupt where session.source.isComplete && Container.isCut(session.source):
                throw .truncated()
            case .limitExceeded where error.limit?.name == "frames":
                throw .limit("frames", allowed: session.limits.maxFrames, requested: session.limits.maxFrames + 1)
            default: throw Self.numbered(error)
            }
        }
    }

    /// A limit of libavif's own, which says no numbers: it is what it takes at most.
    private static func numbered(_ error: CoderError) -> CoderError {
        error.code == .limitExceeded && error.limit?.name == "pixels"
            ? .limit("pixels", allowed: 1 << 28, requested: 1 << 28 + 1) : error
    }

    /// What Exif says, if its bytes are there already; nobody applies it.
    private func storedOrientation() -> Orientation? {
        guard let reader = try? metadataReader(),
            let exif = try? reader.blob(.exif, limit: session.limits.maxMetadataBytes)
        else { return nil }
        return Self.tiff(exif).flatMap(ExifOrientation.read)
    }

    /// A second look at the boxes: libavif reads Exif and XMP only together with them, and not without.
    private func metadataReader() throws(CoderError) -> AVIFReader {
        try session.host.checkCancellation()
        let reader = try AVIFReader(session, maxFrames: session.limits.maxFrames, threads: 1, metadata: true)
        _ = try explained { () throws(CoderError) in try reader.parse() }
        return reader
    }

    /// Steps over what stands before the TIFF header (often `Exif\0\0`); nil without one.
    static func tiff(_ exif: [UInt8]) -> [UInt8]? {
        let headers: [[UInt8]] = [[0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A]]
        for start in exif.indices.prefix(64) where headers.contains(Array(exif[start...].prefix(4))) {
            return Array(exif[start...])
        }
        return nil
    }

    public func thumbnail(at index: Int) throws(CoderError) -> ImageInfo? {
        let thumbnails = try open().thumbnails
        return thumbnails.indices.contains(index) ? thumbnails[index].info : nil
    }

    public func decodeThumbnail(at index: Int, into surface: borrowing Surface) throws(CoderError) {
        let thumbnails = try open().thumbnails
        guard thumbnails.indices.contains(index) else { throw .invalidArgument("there is no such thumbnail") }
        try thumbnails[index].decode(into: surface, session)
    }

    // MARK: Frames

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        let opened = try open()
        guard next < opened.info.frameCount ?? 1 else { return nil }
        try require(next, of: opened)
        defer { next += 1 }
        return FrameInfo(
            index: next, rect: PixelRect(opened.info.size), duration: opened.track?.duration(of: next) ?? .unknown,
            hasAlpha: opened.info.hasAlpha, isIndependent: opened.reader.isKey(next))
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        let count = try open().info.frameCount ?? 1
        guard (0..<count).contains(index) else { throw .invalidArgument("there is no frame \(index)") }
        next = index
        return index
    }

    private func require(_ frame: Int, of opened: Opened) throws(CoderError) {
        // Asked in this order: the last bytes may arrive between the two questions.
        let isComplete = session.source.isComplete
        if try opened.reader.end(of: frame) > session.source.available {
            throw isComplete ? .truncated("the file ends in frame \(frame)") : .needsInput
        }
    }

    // MARK: Pixels

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let opened = try open()
        let picture = opened.picture
        guard surface.size == picture.size, picture.formats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not fit the picture")
        }
        let frame = max(0, next - 1)
        try require(frame, of: opened)
        if !hasReserved {
            try session.host.reserve(bytes: opened.memory)
            hasReserved = true
        }
        try advance(to: frame, opened)
        guard opened.reader.knowsColors else { throw .unsupported("a matrix of constant luminance or of ICtCp") }
        try opened.reader.convert(picture, into: surface, session.host)
        return .complete
    }

    /// Decodes up to a frame: from the one before, or from the nearest key frame.
    private func advance(to frame: Int, _ opened: Opened) throws(CoderError) {
        if decoded == frame { return }
        let key = opened.reader.nearestKey(frame)
        var index = key
        if let decoded, decoded < frame, decoded + 1 > key { index = decoded + 1 }
        while index <= frame {
            try session.host.checkCancellation()
            do throws(CoderError) {
                let facts = try opened.reader.decode(index)
                guard facts.storedSize == opened.picture.stored, (facts.chroma == 400) == opened.picture.isGray else {
                    throw .corrupt("frame \(index) is another kind of picture than the file says")
                }
            } catch {
                decoded = nil
                throw Self.numbered(error)
            }
            decoded = index
            index += 1
        }
    }

    /// Threads of the AV1 decoder; a single one costs the least processor time.
    private var threads: Int {
        let wanted = session.options.integer(OptionKey.threads) ?? 1
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        return max(1, min(wanted, allowed, 16))
    }
}
