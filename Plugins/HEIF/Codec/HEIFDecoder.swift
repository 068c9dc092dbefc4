public import CoderPluginKit
public import ImageModel

/// Decodes the still picture of a HEIF file: HEVC (HEIC) or AV1 (AVIF).
///
/// The facts and the metadata come from the boxes, read here; libheif is asked for nothing but pixels. Rotation,
/// mirroring and cropping belong to the format, so pixels come out upright and the Exif orientation is only for show.
///
/// - Source: ISO/IEC 23008-12:2022 (HEIF); AV1 Image File Format 1.1.
public final class HEIFDecoder: ThumbnailDecoder {
    private let session: DecoderSession
    private var header: Header?

    private struct Header {
        let table: ItemTable
        let prefix: [UInt8]
        let picture: Picture
        let thumbnails: [UInt32]
        let info: ImageInfo
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo { try readBoxes().info }

    public var pixelFormats: [PixelFormat] { header?.picture.formats ?? [] }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let header = try readBoxes()
        return try MetadataReader(table: header.table, session: session).blobs(of: header.picture)
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let header = try readBoxes()
        try decode(header.picture, of: header, thumbnail: 0, into: surface)
        return .complete
    }

    public func thumbnail(at index: Int) throws(CoderError) -> ImageInfo? {
        let header = try readBoxes()
        guard header.thumbnails.indices.contains(index) else { return nil }
        let picture = try Picture(header.thumbnails[index], in: header.table)
        return info(of: picture, thumbnails: 0, orientation: nil)
    }

    public func decodeThumbnail(at index: Int, into surface: borrowing Surface) throws(CoderError) {
        let header = try readBoxes()
        guard header.thumbnails.indices.contains(index) else { throw .invalidArgument("there is no such thumbnail") }
        let picture = try Picture(header.thumbnails[index], in: header.table)
        try decode(picture, of: header, thumbnail: picture.id, into: surface)
    }

    // MARK: Header

    private func readBoxes() throws(CoderError) -> Header {
        if let header { return header }
        let container = try Container(session)
        let table = container.table
        try HeaderGuard(table: table, limits: session.limits).checkBoxes()
        let picture = try Picture(table.primary, in: table)
        // A file may repeat a reference, also one of an item to itself: each thumbnail counts once.
        var seen: Set<UInt32> = [picture.id]
        let thumbnails = table.sources("thmb", to: picture.id).filter {
            table.items[$0]?.isImage == true && seen.insert($0).inserted
        }
        let orientation = MetadataReader(table: table, session: session).storedOrientation(of: picture.id)
        let made = Header(
            table: table, prefix: container.prefix, picture: picture, thumbnails: thumbnails,
            info: info(of: picture, thumbnails: thumbnails.count, orientation: orientation))
        header = made
        return made
    }

    private func info(of picture: Picture, thumbnails: Int, orientation: Orientation?) -> ImageInfo {
        ImageInfo(
            size: picture.size, nativeFormat: picture.formats[0], bitDepth: picture.depth, hasAlpha: picture.hasAlpha,
            orientation: orientation, orientationApplied: true, isLossy: true,
            color: ColorDescription(codePoints: picture.codePoints, hasProfile: picture.profile != nil),
            hasItems: thumbnails > 0)
    }

    // MARK: Pixels

    private func decode(
        _ picture: Picture, of header: Header, thumbnail: UInt32, into surface: borrowing Surface
    ) throws(CoderError) {
        guard surface.size == picture.size, picture.formats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not fit the picture")
        }
        // libheif finds items anywhere in the file; it cannot wait.
        guard session.source.isComplete else { throw .needsInput }
        // With a prefix libheif reads the lists in there, and the file as data.
        if header.prefix.isEmpty { try Container.checkPlaces(in: session.source) }
        try HeaderGuard(table: header.table, limits: session.limits).checkItems(in: session.source)
        try session.host.checkCancellation()

        let own = Self.libraryMemory(for: picture, sourceBytes: session.source.available)
        try session.host.reserve(bytes: own)
        // Giving back is never refused.
        defer { try? session.host.reserve(bytes: -own) }

        let side = session.limits.maxSide > 0 ? session.limits.maxSide : 1 << 20
        let decoder = try HEIFPlanes(
            session, behind: header.prefix, maxSide: side, threads: threads, maxPixels: session.limits.maxPixels)
        let decoded = try decoder.decode(picture, thumbnail: thumbnail)
        guard decoded.size.width >= picture.size.width, decoded.size.height >= picture.size.height else {
            throw .corrupt("the stream holds \(decoded.size) pixels, the file promises \(picture.size)")
        }
        if decoded.skippedCrop {
            session.host.warn("the clean aperture lies outside of the picture and was left out")
        } else if decoded.size != picture.size {
            session.host.warn("the stream holds \(decoded.size) pixels; the file says \(picture.size)")
        }
        if let warning = decoded.warning { session.host.warn("libde265: \(warning)") }
        let isLimited = picture.isGray && picture.codePoints.map { !$0.isFullRange } ?? decoded.isLimitedRange
        var row = 0
        while row < picture.size.height {
            try session.host.checkCancellation()
            let end = min(row + 64, picture.size.height)
            try decoder.copyRows(row..<end, expandingRange: isLimited, into: surface)
            session.host.progress(end, of: picture.size.height)
            row = end
        }
        if decoded.hasGaps { throw .truncated("the HEVC slices do not cover the picture") }
    }

    /// Threads for tiles and for AV1; a single one costs the least processor time.
    private var threads: Int {
        let wanted = session.options.integer(OptionKey.threads) ?? 1
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        return max(1, min(wanted, allowed, 16))
    }

    /// What libheif and its decoder hold at their peak: the stream twice, then the decoder's frame beside a copy of it,
    /// then that copy (4:2:0: one and a half samples a pixel) beside the planes of the result.
    private static func libraryMemory(for picture: Picture, sourceBytes: Int) -> Int {
        let samples = (picture.size.area ?? 0) * (picture.depth > 8 ? 2 : 1)
        let planes = (picture.isGray ? 1 : 3) + (picture.hasAlpha ? 1 : 0)
        return 2 * sourceBytes + samples * planes + samples * 3 / 2
    }
}
