internal import CoderPluginKit
internal import ImageModel

/// Decodes parts of an image band by band, and converts them to pixels.
///
/// A band consists of whole rows of tiles, so that memory does not grow with the number of tiles. Several bands are
/// decoded at the same time on the host's threads.
final class BandPainter {
    let canvas: Canvas
    private let opened: JP2Decoder.Opened
    private let range: Range<Int>
    private let session: DecoderSession
    private let converter: RowConverter
    private let isHighThroughput: Bool
    /// The last band, if the next request may need its other rows.
    private var kept: (rows: Range<Int>, planes: DecodedPlanes)?
    private var reserved = 0
    private var told: Set<String> = []

    /// The number of pixels from which a band is not joined with the next row of tiles.
    private static let bandPixels = 2_000_000

    init(
        _ opened: JP2Decoder.Opened, _ canvas: Canvas, _ range: Range<Int>, _ session: DecoderSession,
        isHighThroughput: Bool
    ) {
        (self.opened, self.canvas, self.range, self.session) = (opened, canvas, range, session)
        self.isHighThroughput = isHighThroughput
        converter = RowConverter(opened.plan, opened.codestream, opened.container.header.palette)
    }

    deinit { release() }

    /// Frees the reported memory.
    func release() {
        kept = nil
        if reserved > 0 { try? session.host.reserve(bytes: -reserved) }
        reserved = 0
    }

    // MARK: Bands

    /// A part to decode, and the part of it to show.
    private struct Band {
        let decoded: PixelRect
        let shown: PixelRect
        /// Whether later requests may show other rows.
        let isKept: Bool
    }

    /// Divides a part into bands.
    private func bands(of region: PixelRect) -> [Band] {
        let size = canvas.size
        let (tile, image) = (opened.codestream.tile, opened.codestream.image)
        let count = opened.codestream.tileCounts.down
        // A single row of tiles is decoded from the code-blocks that the part touches.
        if count == 1 { return [Band(decoded: region, shown: region, isKept: false)] }
        let isFullWidth = region.width == size.width
        var bands: [Band] = []
        var top = 0
        for row in 1...count {
            let edge = min(image.bottom, tile.top + row * tile.height)
            let bottom = canvas.row(at: edge) - canvas.top
            guard row == count || (bottom - top) * size.width >= Self.bandPixels else { continue }
            let whole = PixelRect(x: 0, y: top, width: size.width, height: bottom - top)
            top = bottom
            let shown = whole.intersection(region)
            if shown.isEmpty { continue }
            let isPart = isFullWidth && shown.height < whole.height
            bands.append(Band(decoded: isPart ? whole : shown, shown: shown, isKept: isPart))
        }
        return bands
    }

    // MARK: Decoding

    /// Fills the surface with a part of the canvas.
    func paint(_ region: PixelRect, into surface: borrowing Surface) throws(CoderError) {
        let bands = bands(of: region)
        let scratch = converter.scratch(width: region.width)
        var next = 0
        while next < bands.count {
            try session.host.checkCancellation()
            if let kept, kept.rows.contains(bands[next].shown.y), bands[next].isKept {
                convert(kept.planes, bands[next], region, scratch, into: surface)
                next += 1
                continue
            }
            kept = nil
            let group = Array(bands[next..<min(bands.count, next + (bands.count > 1 ? session.host.threadHint : 1))])
            let planes: [DecodedPlanes]
            do throws(CoderError) { planes = try decode(group) } catch { throw explained(error) }
            for (band, planes) in zip(group, planes) {
                convert(planes, band, region, scratch, into: surface)
                if band.isKept { kept = (band.decoded.rows, planes) }
            }
            next += group.count
            session.host.progress(group.last.map { $0.shown.y + $0.shown.height } ?? 0, of: canvas.size.height)
        }
        if kept == nil { release() }
    }

    private func convert(
        _ planes: DecodedPlanes, _ band: Band, _ region: PixelRect, _ scratch: RowConverter.Scratch,
        into surface: borrowing Surface
    ) {
        for row in band.shown.rows {
            converter.convert(planes, canvas, region, row: row, scratch, into: surface)
        }
    }

    /// OpenJPEG 2.5 reports damage for parts of HTJ2K that it lacks.
    private func explained(_ error: CoderError) -> CoderError {
        guard error.code == .corrupt, isHighThroughput else { return error }
        var made = CoderError.unsupported("this HTJ2K codestream")
        made.message += ", or it is damaged: \(error.message)"
        made.domain = error.domain
        return made
    }

    private func decode(_ bands: [Band]) throws(CoderError) -> [DecodedPlanes] {
        let (codestream, plan) = (opened.codestream, opened.plan)
        let used = plan.components
        let areas = bands.map { band -> GridArea in
            let area = canvas.area(for: band.decoded, used.map { codestream.components[$0] })
            // OpenJPEG 2.5.0 leaves the blocks of HTJ2K empty if it decodes a part of their tile.
            return isHighThroughput ? codestream.wholeTiles(area) : area
        }
        let estimate = MemoryEstimate(codestream, codedBytes: range.count)
        var bytes = 0.0
        for area in areas { bytes += estimate.header + estimate.decoding(area, reduction: canvas.reduction, used) }
        try reserve(bytes < 1e18 ? Int(bytes) : .max)
        // The library mixes colors only if it decodes all components.
        let components = used.count == codestream.components.count || codestream.mixesColors ? nil : used
        let reduction = canvas.reduction
        let results: [DecodedPlanes]
        if session.source.isContiguous || areas.count > 1 {
            let input = DecodedPlanes.Input.memory(ArrivedBytes(session.source), range)
            let slots = PlaneSlots(areas.count)
            try session.host.concurrently(areas.count) { index, _ throws(CoderError) in
                slots[index] = try DecodedPlanes(input, areas[index], reduction: reduction, components: components)
            }
            results = slots.all
        } else {
            let input = DecodedPlanes.Input.pieces(session.source, range, session.host)
            results = [try DecodedPlanes(input, areas[0], reduction: reduction, components: components)]
        }
        for text in results.flatMap(\.warnings) where told.insert(text).inserted {
            session.host.warn("OpenJPEG: \(text)")
        }
        return results
    }

    private func reserve(_ bytes: Int) throws(CoderError) {
        guard bytes > reserved else { return }
        try session.host.reserve(bytes: bytes - reserved)
        reserved = bytes
    }
}
