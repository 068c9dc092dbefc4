public import CoderPluginKit
public import ImageModel

/// Decodes BMP: all headers of Windows and OS/2, unpacked or packed pixels, and an embedded JPEG or PNG.
///
/// Unpacked pixels are decoded in bands or regions, and as they arrive; runs and codes when all of them are there.
public final class BMPDecoder: ImageDecoder {
    private let session: DecoderSession
    private var image: BMPImage?
    /// The decoder of an embedded file.
    private var embedded: (any ImageDecoder)?
    private var info: ImageInfo?
    /// The rows that are decoded so far, counted in the order of the file.
    private var rowsDone = 0
    private var warnedOfRange = false

    public init(_ session: DecoderSession) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var reader = ByteReader(session.source)
        guard try reader.consume(Array("BM".utf8)) else { throw .notMine() }
        reader.offset = 10
        let pixels = Int(try reader.u32LE())
        let header = try BMPHeader(&reader)
        if header.storage == .jpeg || header.storage == .png {
            return try readEmbedded(header, at: pixels)
        }
        let image = try BMPImage(session, header, &reader, pixels: pixels)
        self.image = image
        info = image.info
        return image.info
    }

    /// Reads the header of an embedded JPEG or PNG, whose own size counts.
    private func readEmbedded(_ header: BMPHeader, at start: Int) throws(CoderError) -> ImageInfo {
        let source = session.source
        guard source.isComplete else { throw .needsInput }
        guard start > 0, start < source.available else { throw .truncated("the embedded image is missing") }
        let decoder = try EmbeddedImage.decoder(
            DecoderSession(
                source: source.window(start..<source.available), options: session.options, limits: session.limits,
                host: session.host), isPNG: header.storage == .png)
        var info = try decoder.readHeader()
        if info.size != header.size {
            session.host.warn("the header says \(header.size), the embedded image is \(info.size)")
        }
        info.hasItems = false
        embedded = decoder
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        if let embedded { return try embedded.metadata() }
        return try image?.metadata() ?? []
    }

    public var pixelFormats: [PixelFormat] { embedded?.pixelFormats ?? [] }

    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        embedded?.scaledSize(atLeast: wanted, of: size) ?? size
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        if let embedded { return try embedded.decode(request, into: surface) }
        guard let image else { throw CoderError(.misuse, "the header has not been read") }
        guard surface.format == image.info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the image's format")
        }
        if image.header.storage != .plain && image.header.storage != .masks {
            try image.decodePacked(into: surface)
            return .complete
        }
        return try decodeRows(image, request, into: surface)
    }

    private func decodeRows(
        _ image: BMPImage, _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let region = request.region ?? PixelRect(image.info.size)
        guard region.size == surface.size, PixelRect(image.info.size).contains(region) else {
            throw CoderError(.misuse, "the surface does not have the size of the region")
        }
        let isWhole = request.region == nil
        let columns = region.x..<region.x + region.width
        // Keep this order: bytes that arrive after this check are found later, and not reported as missing.
        let isComplete = session.source.isComplete
        let there = image.rowsThere(session.source.available)
        // Rows of the region, in the order of the file.
        let first = image.header.isTopDown ? region.y : image.info.size.height - region.rows.upperBound
        let start = isWhole && rowsDone < there ? rowsDone : first
        let end = min(there, first + region.height)
        for row in start..<max(start, end) {
            if row % 64 == 0 { try session.host.checkCancellation() }
            let y = image.header.isTopDown ? row : image.info.size.height - 1 - row
            if image.unpack(row, columns: columns, into: surface, at: y - region.y), !warnedOfRange {
                session.host.warn("samples below 0 or above 1 are cut off")
                warnedOfRange = true
            }
        }
        if isWhole { rowsDone = end == first + region.height ? 0 : end }
        if end == first + region.height { return .complete }
        if request.wantsPartial, end > start {
            let top = image.header.isTopDown ? start : image.info.size.height - end
            return .partial(PixelRect(x: 0, y: top - region.y, width: region.width, height: end - start))
        }
        let height = image.info.size.height
        throw isComplete ? .truncated("\(height - there) of \(height) rows are missing") : .needsInput
    }
}
