import CoderPluginKit

/// Decodes mosaics: pages, parts and smaller sizes.
final class MosaicDecoder: ImageDecoder {
    private let session: DecoderSession
    /// The pages found so far.
    private var pages: [MosaicPage] = []
    private var selected = 0

    init(_ session: DecoderSession) { self.session = session }

    func readHeader() throws(CoderError) -> ImageInfo {
        guard let page = try page(at: 0) else { throw .truncated() }
        return facts(of: page)
    }

    // huge begins
    private func facts(of page: MosaicPage) -> ImageInfo {
        ImageInfo(
            size: page.size, nativeFormat: .rgb8, hasItems: true, decodesRows: true,
            tileSize: PixelSize(page.tile, page.tile), regionCost: .tiles)
    }
    // huge ends

    /// Returns page `index`; nil after the last, and after a damaged page, because the next one cannot be found.
    private func page(at index: Int) throws(CoderError) -> MosaicPage? {
        while pages.count <= index {
            let start = pages.last?.colors.upperBound ?? 0
            // The order matters: bytes may arrive between the two calls.
            let isComplete = session.source.isComplete
            if start > 0, isComplete, session.source.available <= start { return nil }
            do throws(CoderError) {
                pages.append(try MosaicPage(session.source, at: start))
            } catch {
                guard start > 0, [.corrupt, .truncated].contains(error.code) else { throw error }
                if index > pages.count { return nil }
                throw .refused(error.message)
            }
        }
        return pages[index]
    }

    func metadata() throws(CoderError) -> [MetadataBlob] {
        guard let place = try page(at: selected)?.text, !place.isEmpty else { return [] }
        if session.limits.maxMetadataBytes > 0, place.count > session.limits.maxMetadataBytes {
            session.host.warn("the text is longer than the limit of metadata")
            return []
        }
        var reader = ByteReader(session.source, at: place.lowerBound)
        return [MetadataBlob(.text, try reader.bytes(place.count), key: "Comment")]
    }

    // scale begins
    func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        let page = pages[selected]
        var step = 1
        // Halves are exact as long as every pixel lies inside one tile.
        while page.tile % (2 * step) == 0 {
            let half = page.size(over: 2 * step)
            guard half.width >= wanted.width, half.height >= wanted.height else { break }
            step *= 2
        }
        return page.size(over: step)
    }
    // scale ends

    // region begins
    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let page = pages[selected]
        var step = 1
        if let scaled = request.scaledSize { while page.size(over: step) != scaled, step < page.tile { step *= 2 } }
        let part = request.region ?? PixelRect(surface.size)

        // The rows of tiles that the part touches, and no others.
        let first = part.y * step / page.tile
        let last = (part.y + part.height - 1) * step / page.tile
        var reader = ByteReader(session.source, at: page.colors.lowerBound)
        try reader.skip(3 * page.columns * first)
        let count = 3 * page.columns * (last - first + 1)
        // region ends
        // Asked before they are allocated: tiles of one pixel take as much as the image.
        try reader.require(count)
        try session.host.reserve(bytes: count)
        defer { try? session.host.reserve(bytes: -count) }
        let flip: UInt8 = session.options.bool("mosaic.negative") == true ? 0xFF : 0

        // parallel begins
        let colors = try reader.bytes(count)
        try session.host.concurrently(surface.size.height) { y, _ in
            let tiles = 3 * page.columns * ((part.y + y) * step / page.tile - first)
            surface.withMutableRow(y) { row in
                for x in 0..<part.width {
                    let tile = tiles + 3 * ((part.x + x) * step / page.tile)
                    for sample in 0..<3 {
                        row.storeBytes(of: colors[tile + sample] ^ flip, toByteOffset: 3 * x + sample, as: UInt8.self)
                    }
                }
            }
        }
        return .complete
        // parallel ends
    }
}

extension MosaicDecoder: ItemDecoder {
    // items begins
    func item(at index: Int) throws(CoderError) -> ImageItem? {
        guard let page = try page(at: index) else { return nil }
        return ImageItem(index == 0 ? .primary : .page, info: facts(of: page), name: "page \(index + 1)")
    }

    func select(item index: Int) throws(CoderError) {
        guard try page(at: index) != nil else { throw .refused("there is no page \(index + 1)") }
        selected = index
    }
    // items ends
}
