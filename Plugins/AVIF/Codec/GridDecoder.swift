internal import AVIFShim
internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Decodes tiles of a grid beside each other, on the host's threads.
///
/// Each tile has a libavif of its own. The samples are put together before they become pixels, so that colors between
/// two stored ones come from both sides of a seam.
struct GridDecoder {
    let session: DecoderSession
    let grid: TileGrid
    let picture: Picture
    /// Has read the boxes of the whole image.
    let model: AVIFReader

    /// Tiles between two reports of progress; many enough that threads seldom wait for each other.
    private static let batch = 64

    /// Fills the target with a part of the stored image.
    ///
    /// - Returns: false where the tiles do not fit each other or the boxes: libavif knows why.
    func paint(_ part: PixelRect, into target: SurfaceTarget) throws(CoderError) -> Bool {
        for plan in [grid.colors, grid.alpha].compactMap({ $0 }) { try grid.boxes.derivations.check(plan.tile) }
        let rect = withNeighbors(part)
        let tiles = grid.tiles(in: rect)
        // All of them before the first is decoded: bytes may be missing.
        let prefixes = try tiles.map { tile throws(CoderError) in
            try grid.boxes.excerpt(ofTile: tile.id, from: session.source)
        }
        let threads = min(tiles.count, session.host.threadHint)
        let own =
            picture.libraryMemory(of: rect.size) + threads * memory(of: tiles) + prefixes.reduce(0) { $0 + $1.count }
        try session.host.reserve(bytes: own)
        // Giving back is never refused.
        defer { try? session.host.reserve(bytes: -own) }

        let canvas = try AVIFCanvas(rect, like: model, hasAlpha: grid.alpha != nil)
        let planes = canvas.planes
        guard planes.knowsColors else { throw .unsupported("a matrix of constant luminance or of ICtCp") }
        let fits = TileFlags(tiles.count)
        let arrived = ArrivedBytes(session.source)
        var first = 0
        while first < tiles.count {
            let count = min(Self.batch, tiles.count - first)
            try session.host.concurrently(count) { index, _ throws(CoderError) in
                let tile = tiles[first + index]
                let reader = try AVIFReader(
                    session, maxFrames: 1, threads: 1, prefix: prefixes[first + index], arrived: arrived)
                reader.limit(maxPixels: (tile.rect.size.area ?? 0) * 8 + 65_536, memory: memory(of: [tile]))
                _ = try reader.parse()
                let facts = try reader.decode(0)
                guard facts.storedSize == tile.rect.size,
                    try canvas.put(reader, x: tile.rect.x, y: tile.rect.y, isAlpha: tile.isAlpha)
                else { return }
                fits.set(first + index)
            }
            first += count
            session.host.progress(first, of: tiles.count + 1)
        }
        guard fits.areAllSet else { return false }
        let place = PixelRect(x: part.x - rect.x, y: part.y - rect.y, width: part.width, height: part.height)
        try planes.convert(place, of: rect.size, picture, into: target, session.host, reports: false)
        session.host.progress(tiles.count + 1, of: tiles.count + 1)
        return true
    }

    /// The part with the samples of color that its edges are interpolated from, at even places.
    private func withNeighbors(_ part: PixelRect) -> PixelRect {
        func span(_ start: Int, _ count: Int, _ whole: Int, _ isHalved: Bool) -> Range<Int> {
            if !isHalved { return start..<start + count }
            let end = start + count
            return max(0, start - start % 2 - 2)..<min(whole, end + end % 2 + 2)
        }
        let x = span(part.x, part.width, picture.stored.width, picture.halvesColumns)
        let y = span(part.y, part.height, picture.stored.height, picture.halvesRows)
        return PixelRect(x: x.lowerBound, y: y.lowerBound, width: x.count, height: y.count)
    }

    /// What libavif and dav1d hold while they decode one tile.
    private func memory(of tiles: [TileGrid.Tile]) -> Int {
        let areas = tiles.map { picture.libraryMemory(of: $0.rect.size) }
        return 2 * (areas.max() ?? 0) + (400 << 10)
    }
}
