public import CoderPluginKit
public import ImageModel

/// Decodes the composite of PSD and PSB files, and the embedded thumbnail.
///
/// - Source: Adobe Photoshop File Formats Specification.
public final class PSDDecoder: ThumbnailDecoder {
    private let session: DecoderSession
    private var composite: Composite?
    private var planes: CompositePlanes?
    /// The current row of each channel.
    private var rows: [[UInt8]] = []
    private var reserved = 0
    /// The rows of a request of which a part was delivered; the next call continues in the same surface.
    private var unfinished: (rows: Range<Int>, next: Int)?
    private var hasWarnedOfRange = false

    public init(_ session: DecoderSession) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo { try open().info }

    private func open() throws(CoderError) -> Composite {
        if let composite { return composite }
        let made = try Composite(session)
        composite = made
        return made
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let composite = try open()
        return PSDMetadata(session, composite.resources).blobs(for: composite.form.format)
    }

    // MARK: The thumbnail

    public func thumbnail(at index: Int) throws(CoderError) -> ImageInfo? {
        let composite = try open()
        guard index == 0, composite.info.hasItems else { return nil }
        return try PSDThumbnail.open(session, composite.resources)?.info
    }

    public func decodeThumbnail(at index: Int, into surface: borrowing Surface) throws(CoderError) {
        let composite = try open()
        guard index == 0, composite.info.hasItems,
            let thumbnail = try PSDThumbnail.open(session, composite.resources)
        else { throw .refused("there is no thumbnail \(index)") }
        _ = try thumbnail.decoder.decode(DecodeRequest(), into: surface)
    }

    // MARK: Pixels

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let composite = try open()
        let size = composite.info.size
        let region = request.region ?? PixelRect(size)
        guard surface.format == composite.form.format, surface.size == region.size, !region.isEmpty,
            PixelRect(size).contains(region)
        else { throw CoderError(.misuse, "the surface does not have the size or format of the image") }
        let planes = try openPlanes(composite)
        var pixels = PixelRows(
            composite.form, palette: composite.palette, transparentIndex: composite.resources.transparentIndex)
        let wanted = region.y..<region.y + region.height
        let start = unfinished?.rows == wanted ? unfinished?.next ?? wanted.lowerBound : wanted.lowerBound
        var damaged = 0
        var y = start
        do throws(CoderError) {
            while y < wanted.upperBound {
                if y % 64 == 0 {
                    try session.host.checkCancellation()
                    session.host.progress(y - wanted.lowerBound, of: wanted.count)
                }
                var isFull = true
                for (index, channel) in composite.form.channels.enumerated() {
                    if !(try planes.read(y, of: channel, into: &rows[index])) { isFull = false }
                }
                if !isFull { damaged += 1 }
                surface.withMutableRow(y - region.y) { target in
                    pixels.convert(rows, columns: region.x..<region.x + region.width, into: &target)
                }
                y += 1
            }
        } catch {
            if request.wantsPartial, y > start, [.needsInput, .truncated].contains(error.code) {
                unfinished = (wanted, y)
                return .partial(PixelRect(x: 0, y: start - region.y, width: region.width, height: y - start))
            }
            if error.code != .needsInput { unfinished = nil }
            guard error.code == .truncated else { throw error }
            throw .truncated("\(size.height - y) of \(size.height) rows are missing")
        }
        unfinished = nil
        try report(damaged: damaged, of: wanted.upperBound - start, isCut: pixels.isCut)
        return .complete
    }

    /// Opens the image data, and reserves memory for a row of each channel.
    private func openPlanes(_ composite: Composite) throws(CoderError) -> CompositePlanes {
        if let planes { return planes }
        let made = try CompositePlanes(
            session, composite.header, used: composite.form.channels.count, at: composite.start)
        let needed = composite.form.channels.count * composite.header.rowBytes
        if reserved == 0 {
            try session.host.reserve(bytes: needed)
            reserved = needed
        }
        rows = composite.form.channels.map { _ in [UInt8](repeating: 0, count: composite.header.rowBytes) }
        planes = made
        return made
    }

    private func report(damaged: Int, of count: Int, isCut: Bool) throws(CoderError) {
        if damaged == count { throw .corrupt("the runs of every row end before the row") }
        if damaged > 0 { session.host.warn("the runs of \(damaged) of \(count) rows end before the row") }
        guard isCut, !hasWarnedOfRange else { return }
        session.host.warn("samples below 0 or above 1 are cut off")
        hasWarnedOfRange = true
    }
}
