package import CoderPluginKit
package import ImageModel

/// The chunks of a file except its pixels.
package final class PNGFile {
    private let session: DecoderSession
    package var source: ByteSource { session.source }

    /// The relevant chunks in front of the first IDAT, then the metadata behind it.
    package private(set) var chunks: [PNGChunk] = []
    /// The animation control chunk, the first if there are several.
    package private(set) var animationControl: PNGChunk?
    /// The position of the first IDAT; nil until it was found.
    package private(set) var firstData: Int?
    /// The position at which the walk continues.
    private var walked = PNGCursor.signature.count
    private var metadataReader: PNGMetadata?
    private var header: PNGReader.Header?
    private var reader: PNGReader?
    private var info: ImageInfo?

    package init(_ session: DecoderSession) { self.session = session }

    /// Reads the facts of the default image.
    package func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var start = ByteReader(source)
        guard try start.consume(PNGCursor.signature) else { throw .notMine() }
        let data = try walkToData()
        try checkHeader()

        let reader = try startReader(before: data)
        let header = reader.header
        if header.colorType == 3, !header.hasPalette { throw .corrupt("the image has no palette", at: data) }
        let metadata = PNGMetadata(source: source, limits: session.limits, host: session.host)
        metadataReader = metadata
        if source.isComplete { walkTail(from: data) }

        var info = ImageInfo(
            size: header.size, nativeFormat: Self.nativeFormat(of: header), bitDepth: header.depth)
        info.isAnimated = animationControl != nil
        try metadata.describe(&info, chunks: chunks, before: data)
        self.header = header
        self.reader = reader
        self.info = info
        return info
    }

    package func metadata() throws(CoderError) -> [MetadataBlob] {
        guard let firstData, let metadataReader else { return [] }
        if source.isComplete { walkTail(from: firstData) }
        return try metadataReader.blobs(chunks: chunks, before: firstData)
    }

    /// The pixel formats of the engine for this file; the first keeps every sample.
    package var pixelFormats: [PixelFormat] {
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

    /// Whether images are stored in seven passes.
    package var isInterlaced: Bool { header?.isInterlaced ?? false }

    /// Returns an engine that knows the colors of the file; call it after ``readHeader()``.
    package func makeEngine() throws(CoderError) -> PNGEngine {
        guard let reader else { throw CoderError(.misuse, "the header was not read") }
        return try PNGEngine(reader, host: session.host)
    }

    /// Returns an engine that leaves samples as stored: indices instead of colors, no transparent color. Samples of
    /// less than 8 bits become 8 bits.
    func makeStoredEngine() throws(CoderError) -> PNGEngine {
        guard let reader else { throw CoderError(.misuse, "the header was not read") }
        return try PNGEngine(reader, host: session.host, isStored: true)
    }

    /// The format of stored samples; an index or a gray of less than 8 bits becomes 8 bits.
    var storedFormat: PixelFormat? {
        guard let header else { return nil }
        let isColor = header.colorType & 2 != 0 && header.colorType != 3
        let channels: PixelFormat.Channels =
            header.colorType & 4 != 0 ? (isColor ? .rgba : .grayAlpha) : (isColor ? .rgb : .gray)
        return PixelFormat(channels, bits: header.depth == 16 ? 16 : 8)
    }

    /// Passes on libpng's warnings.
    package func passWarnings() { reader?.takeWarnings().forEach(session.host.warn) }

    // MARK: Reading

    /// Records the chunks in front of the first IDAT and returns its position.
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
            if chunk.kind == .imageEnd { throw .corrupt("the file has no pixels", at: walked) }
            note(chunk)
            walked = chunk.range.upperBound
        }
        return firstData ?? 0
    }

    /// Records the metadata behind the pixels; ignores damage there.
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

    /// The maximum number of recorded chunks; libpng has the same default (PNG_USER_CHUNK_CACHE_MAX).
    private static let maxChunks = 1000

    private func note(_ chunk: PNGChunk) {
        if chunk.kind == .acTL, animationControl == nil { animationControl = chunk }
        guard chunk.kind.concernsPixels || chunk.kind.concernsMetadata else { return }
        if !chunk.kind.isAncillary || chunks.count < Self.maxChunks { chunks.append(chunk) }
    }

    /// Checks the size before any memory for rows is allocated.
    private func checkHeader() throws(CoderError) {
        var fields = ByteReader(source, at: chunks[0].data.lowerBound)
        let width = Int(try fields.u32BE())
        let height = Int(try fields.u32BE())
        for side in [width, height] where session.limits.maxSide > 0 && side > session.limits.maxSide {
            throw .limit("side", allowed: session.limits.maxSide, requested: side)
        }
    }

    /// Returns a reader that has read all chunks in front of the first IDAT that affect the pixels.
    private func startReader(before data: Int) throws(CoderError) -> PNGReader {
        let reader = try PNGReader(limits: session.limits)
        try reader.push(0..<PNGCursor.signature.count, of: source)
        for chunk in chunks where chunk.kind.concernsPixels && chunk.offset < data {
            try reader.push(chunk.range, of: source)
        }
        return reader
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
