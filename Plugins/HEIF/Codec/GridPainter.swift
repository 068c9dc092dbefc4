internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Decodes tiles in parallel, on the host's threads, and paints each at its position.
struct GridPainter {
    let session: DecoderSession
    let derivations: Derivations
    let maxSide: Int

    /// Damage in tiles that could still be decoded.
    struct Findings {
        var hasGaps = false
        var warning: String?
    }

    /// Paints the part of the image that `region` shows.
    ///
    /// - Parameter isAlpha: whether the tiles are the alpha channel of the pixels in the surface.
    func paint(
        _ plan: TilePlan, _ region: PixelRect, isAlpha: Bool, into surface: borrowing Surface
    ) throws(CoderError) -> Findings {
        let places = plan.places(in: region)
        let target = PaintTarget(surface)
        let steps = plan.placement.steps
        let isGray = [.gray, .grayAlpha].contains(surface.format.channels)
        var findings = Findings()
        var first = 0
        while first < places.count {
            let some = Array(places[first..<min(first + Self.batch, places.count)])
            let work = try some.map { place throws(CoderError) in
                (
                    image: try Image(place.tile, in: derivations),
                    excerpt: try Excerpt(
                        [place.tile], in: derivations, from: session.source, keeping: { !$0.isTransform }),
                    places: place.places
                )
            }
            // After the excerpts: the data that they declare has arrived.
            let arrived = ArrivedBytes(session.source)
            let own = try memory(for: some.map(\.tile))
            try session.host.reserve(bytes: own)
            defer { try? session.host.reserve(bytes: -own) }

            let notes = TileNotes(work.count)
            try session.host.concurrently(work.count) { index, _ throws(CoderError) in
                let tile = work[index]
                let planes = try HEIFPlanes(session, arrived, tile.excerpt, maxSide: maxSide, threads: 1)
                let decoded = try planes.decode(tile.image, asGray: isAlpha || isGray)
                guard decoded.size.width >= plan.tile.width, decoded.size.height >= plan.tile.height else {
                    throw .corrupt("a tile of \(plan.tile) has a stream of \(decoded.size)")
                }
                let isLimited =
                    isGray && !isAlpha && tile.image.codePoints.map { !$0.isFullRange } ?? decoded.isLimitedRange
                for place in tile.places {
                    try planes.paint(
                        place, right: steps.right, down: steps.down, isAlpha: isAlpha, expandingRange: isLimited,
                        into: target)
                }
                notes.note(decoded, at: index)
            }
            for decoded in notes.all {
                if decoded.hasGaps { findings.hasGaps = true }
                findings.warning = findings.warning ?? decoded.warning
            }
            first += some.count
            session.host.progress(first, of: places.count)
        }
        return findings
    }

    /// Tiles between two progress reports; enough that threads seldom wait for each other.
    private static let batch = 64

    /// The memory of libheif and its decoders while they decode one tile per thread.
    private func memory(for tiles: [UInt32]) throws(CoderError) -> Int {
        var most = 0
        for tile in tiles {
            let image = try Image(tile, in: derivations)
            let bytes = try derivations.table.byteCount(of: tile, in: session.source)
            most = max(most, HEIFDecoder.libraryMemory(for: image, sourceBytes: bytes, planes: 3))
        }
        return most * min(tiles.count, session.host.threadHint)
    }
}
