public import CoderPluginKit
public import ImageModel

/// Decodes PNG; of an animated one the default image.
///
/// The file is walked here, chunk by chunk, and pushed into libpng, so that whole and growing sources take one way.
public final class PNGDecoder: ImageDecoder {
    private let source: ByteSource
    private let limits: DecodeLimits
    private let host: HostServices

    private var chunks: [PNGChunk] = []
    private var isAnimated = false
    /// Where the first IDAT stands; nil until it was found.
    private var firstData: Int?
    /// Where the walk goes on.
    private var walked = PNGCursor.signature.count
    private var metadataReader: PNGMetadata?
    private var info: ImageInfo?
    private var header: PNGReader.Header?

    private var reader: PNGReader?
    private var cursor: PNGCursor?
    private var surfaceIdentity = 0
    private var isDecoded = false

    public init(_ session: DecoderSession) throws(CoderError) {
        source = session.source
        limits = session.limits
        host = session.host
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var start = ByteReader(source)
        guard try start.consume(PNGCursor.signature) else { throw .notMine() }
        let data = try walkToData()
        try checkHeader()

        let reader = try startReader()
        let header = reader.header
        let metadata = PNGMetadata(source: source, limits: limits, host: host)
        self.metadataReader = metadata
        if source.isComplete { walkTail(from: data) }

        let native = Self.nativeFormat(of: header)
        var info = ImageInfo(size: header.size, nativeFormat: native, bitDepth: header.depth)
        info.isAnimated = isAnimated
        try metadata.describe(&info, chunks: chunks, before: data)
        self.header = header
        self.reader = reader
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        guard let firstData, let metadataReader else { return [] }
        if source.isComplete { walkTail(from: firstData) }
        return try metadataReader.blobs(chunks: chunks, before: firstData)
    }

    public var pixelFormats: [PixelFormat] {
        guard let native = info?.nativeFormat else { return [] }
        var formats = [native]
        if native.bits == 16 {
            formats.append(PixelFormat(native.channels))
            if native != .rgba16 { formats.append(.rgba16) }
        }
        formats.append(.rgba8)
        if !native.channels.hasAlpha { formats.append(.rgb8) }
        return formats.enumerated().filter { formats.firstIndex(of: $0.element) == $0.offset }.map(\.element)
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let info, surface.size == info.size, pixelFormats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not fit the picture")
        }
        let reader = try readerForPixels(of: surface, blocky: request.wantsPartial)
        do throws(CoderError) {
            while true {
                try host.checkCancellation()
                guard let (range, isImageData) = try cursor?.next() else { break }
                do throws(CoderError) {
                    try reader.push(range, of: source)
                } catch {
                    // The stream of pixels was cut off, and libpng notices at the chunk behind it.
                    if error.code == .corrupt, !isImageData, !reader.takeProgress().isComplete {
                        throw .truncated("the compressed data ends before the last row")
                    }
                    throw error
                }
            }
            if !reader.takeProgress().isComplete {
                throw .truncated("the compressed data ends before the last row")
            }
        } catch {
            let progress = reader.takeProgress()
            if error.code == .needsInput, request.wantsPartial, !progress.rows.isEmpty {
                let width = info.size.width
                return .partial(
                    PixelRect(x: 0, y: progress.rows.lowerBound, width: width, height: progress.rows.count))
            }
            guard error.code == .truncated, progress.isComplete else { throw error }
            host.warn("the file ends before its end chunk")
        }
        reader.takeWarnings().forEach(host.warn)
        isDecoded = true
        return .complete
    }

    // MARK: Reading

    /// Notes the chunks in front of the first IDAT and answers where that stands.
    private func walkToData() throws(CoderError) -> Int {
        while firstData == nil {
            let chunk = try PNGChunk(at: walked, in: source)
            if chunks.isEmpty {
                if chunk.kind == .cgBI { throw .unsupported("the CgBI variant of PNG") }
                guard chunk.kind == .imageHeader, chunk.length == 13 else {
                    throw .corrupt("the file does not begin with an image header", at: walked)
                }
            }
            if chunk.kind == .imageData {
                firstData = walked
                break
            }
            try ByteReader(source, at: walked).require(chunk.range.count)
            if chunk.kind == .imageEnd { throw .corrupt("the file holds no pixels", at: walked) }
            if chunk.kind == .acTL { isAnimated = true }
            note(chunk)
            walked = chunk.range.upperBound
        }
        return firstData ?? 0
    }

    /// Notes the metadata that stands behind the pixels; damage there concerns nobody here.
    private func walkTail(from data: Int) {
        if walked > data { return }
        var position = data
        while let chunk = try? PNGChunk(at: position, in: source), chunk.kind != .imageEnd,
            chunk.range.upperBound <= source.available
        {
            if chunk.kind.isText || chunk.kind == .eXIf { note(chunk) }
            position = chunk.range.upperBound
        }
        walked = position + 1
    }

    /// The number of chunks that are kept; libpng's own default is the same (PNG_USER_CHUNK_CACHE_MAX).
    private static let maxChunks = 1000

    private func note(_ chunk: PNGChunk) {
        guard chunk.kind.concernsPixels || chunk.kind.concernsMetadata else { return }
        if !chunk.kind.isAncillary || chunks.count < Self.maxChunks { chunks.append(chunk) }
    }

    /// Looks at the size before libpng takes memory for rows.
    private func checkHeader() throws(CoderError) {
        var fields = ByteReader(source, at: chunks[0].data.lowerBound)
        let width = Int(try fields.u32BE())
        let height = Int(try fields.u32BE())
        for side in [width, height] where limits.maxSide > 0 && side > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: side)
        }
    }

    /// A reader that has seen everything in front of the first IDAT.
    private func startReader() throws(CoderError) -> PNGReader {
        let reader = try PNGReader(limits: limits)
        try reader.push(0..<PNGCursor.signature.count, of: source)
        for chunk in chunks where chunk.kind.concernsPixels && chunk.offset < firstData ?? 0 {
            try reader.push(chunk.range, of: source)
        }
        return reader
    }

    /// The reader that goes on, or a new one where the surface is another one.
    private func readerForPixels(of surface: borrowing Surface, blocky: Bool) throws(CoderError) -> PNGReader {
        let identity = PNGReader.identity(of: surface)
        if let reader, cursor != nil, identity == surfaceIdentity, !isDecoded { return reader }
        let fresh: PNGReader
        if let reader, cursor == nil { fresh = reader } else { fresh = try startReader() }
        cursor = PNGCursor(source, at: firstData ?? 0)
        surfaceIdentity = identity
        isDecoded = false
        reader = fresh
        fresh.aim(at: surface, blocky: blocky)
        return fresh
    }

    /// The format that keeps every sample.
    private static func nativeFormat(of header: PNGReader.Header) -> PixelFormat {
        let isColor = header.colorType & 2 != 0
        let hasAlpha = header.colorType & 4 != 0 || header.hasTransparency
        let channels: PixelFormat.Channels =
            switch (isColor, hasAlpha) {
            case (false, false): .gray
            case (false, true): .grayAlpha
            case (true, false): .rgb
            case (true, true): .rgba
            }
        return PixelFormat(channels, bits: header.depth == 16 ? 16 : 8)
    }
}
