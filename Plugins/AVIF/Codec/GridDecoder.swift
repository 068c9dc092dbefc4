internal import AVIFShim
internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Decodes tiles of a grid in parallel, on the host's threads.
///
/// Each tile has its own libavif decoder. The samples are joined before conversion to pixels, so that colors at a seam
/// are interpolated from both sides.
struct GridDecoder {
    let session: DecoderSession
    let grid: TileGrid
    let image: Image
    /// A reader that has read the boxes of the whole image.
    let model: AVIFReader

    /// Tiles between two progress reports; enough that threads seldom wait for each other.
    private static let batch = 64

    /// Fills the target with a part of the stored image.
    ///
    /// - Returns: false if the tiles do not match each other or the boxes; libavif then finds the reason.
    func paint(_ part: PixelRect, into target: SurfaceTarget) throws(CoderError) -> Bool {
        for plan in [grid.colors, grid.alpha].compactMap({ $0 }) { try grid.boxes.derivations.check(plan.tile) }
        let rect = withNeighbors(part)
        let tiles = grid.tiles(in: rect)
        // Checks all of them before decoding the first: bytes may be missing.
        let prefixes = try tiles.map { tile throws(CoderError) in
            try grid.boxes.excerpt(ofTile: tile.id, from: session.source)
        }
        let threads = min(tiles.count, session.host.threadHint)
        let own =
            image.libraryMemory(of: rect.size) + threads * memory(of: tiles) + prefixes.reduce(0) { $0 + $1.count }
        try session.host.reserve(bytes: own)
        // Freeing reserved memory never fails.
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
        try planes.convert(place, of: rect.size, image, into: target, session.host, reports: false)
        session.host.progress(tiles.count + 1, of: tiles.count + 1)
        return true
    }

    /// The part including the color samples that interpolation at its edges needs; begins at even coordinates.
    private func withNeighbors(_ part: PixelRect) -> PixelRect {
        func span(_ start: Int, _ count: Int, _ whole: Int, _ isHalved: Bool) -> Range<Int> {
            if !isHalved { return start..<start + count }
            let end = start + count
            return max(0, start - start % 2 - 2)..<min(whole, end + end % 2 + 2)
        }
        let x = span(part.x, part.width, image.stored.width, image.halvesColumns)
        let y = span(part.y, part.height, image.stored.height, image.halvesRows)
        return PixelRect(x: x.lowerBound, y: y.lowerBound, width: x.count, height: y.count)
    }

    /// The memory of libavif and dav1d while they decode one tile.
    private func memory(of tiles: [TileGrid.Tile]) -> Int {
        let areas = tiles.map { image.libraryMemory(of: $0.rect.size) }
        return 2 * (areas.max() ?? 0) + (400 << 10)
    }
}
