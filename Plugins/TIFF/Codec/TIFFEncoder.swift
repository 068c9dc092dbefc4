public import CoderPluginKit
public import ImageModel

/// Encodes pages of TIFF, or BigTIFF if the pixels need more than 4 GiB, in strips or tiles.
public final class TIFFEncoder: RowEncoder, ItemEncoder {
    private let session: EncoderSession
    private let settings: EncodeSettings
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var blobs: [MetadataBlob] = []
    private var writer: TIFFWriter?
    private var layout: BlockLayout?
    private var rowsDone = 0
    private var hasGrays = false
    private var pages = Pages()

    /// The page among several ones.
    private struct Pages {
        var item: ItemDescription?
        /// The size of the first page.
        var first: PixelSize?
        /// The levels below the current page.
        var pyramid: Pyramid?
    }

    public init(_ session: EncoderSession) throws(CoderError) {
        self.session = session
        settings = try EncodeSettings(session.options)
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        settings.formats(for: info.nativeFormat)
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard settings.formats(for: info.nativeFormat).contains(info.nativeFormat) else {
            throw .invalidArgument("TIFF with this compression is not encoded from \(info.nativeFormat)")
        }
        guard !info.size.isEmpty, info.size.width < 1 << 31, info.size.height < 1 << 31 else {
            throw .invalidArgument("a TIFF of \(info.size) pixels cannot be written")
        }
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard [.exif, .xmp, .icc, .iptc].contains(blob.kind) || blob.kind == .raw && blob.key == "8BIM" else {
            return false
        }
        blobs.append(blob)
        return true
    }

    // MARK: Pages

    public func beginItem(_ item: ItemDescription) throws(CoderError) {
        if item.role == .auxiliary { throw .refused("TIFF contains no auxiliary images") }
        if settings.pyramid == .cog, info != nil {
            throw .refused("tiff.pyramid=cog writes one image, not several")
        }
        try endPage()
        pages.item = item
        blobs = []
    }

    /// Whether the page is a smaller version of the first one.
    private func isReduced(_ size: PixelSize) -> Bool {
        guard let first = pages.first, let role = pages.item?.role, [.alternative, .level, .thumbnail].contains(role)
        else {
            return false
        }
        return size.width < first.width && size.height <= first.height
    }

    /// Writes the directory of the current page, and its levels.
    private func endPage() throws(CoderError) {
        guard let layout, let info, let writer else { return }
        guard rowsDone == info.size.height else { throw CoderError(.misuse, "the image is not complete") }
        try writer.endPage()
        try session.host.reserve(bytes: -3 * layout.blockBytes)
        (self.layout, rowsDone) = (nil, 0)
        guard let pyramid = pages.pyramid else { return }
        pages.pyramid = nil
        for level in pyramid.levels { try write(level, below: info, to: writer) }
        try session.host.reserve(bytes: -Self.bytes(of: pyramid.levels.map(\.size), info.nativeFormat))
    }

    /// Writes a level of a pyramid as a page of its own.
    private func write(_ level: PixelBuffer, below info: ImageInfo, to writer: TIFFWriter) throws(CoderError) {
        var info = info
        (info.size, info.density) = (level.size, nil)
        let layout = BlockLayout(info.size, info.nativeFormat, settings)
        try PageFields(info, settings, layout).write(to: writer)
        try writer.set(254, 1)
        try MetadataFields(session.host).write(
            blobs.filter { $0.kind == .icc }, orientation: info.orientation, to: writer)
        let hadGrays = hasGrays
        try write(Surface(level), layout, at: 0, of: info.size.height, to: writer)
        hasGrays = hadGrays
        try writer.endPage()
    }

    private static func bytes(of sizes: [PixelSize], _ format: PixelFormat) -> Int {
        sizes.reduce(0) { $0 + $1.width * $1.height * format.bytesPerPixel }
    }

    /// Creates the levels below the page, unless it is itself a smaller version.
    private func beginPyramid(_ info: ImageInfo, _ writer: TIFFWriter) throws(CoderError) {
        guard settings.pyramid != .none, !isReduced(info.size) else { return }
        let sizes = Pyramid.sizes(of: info.size, until: settings.tile)
        guard !sizes.isEmpty else { return }
        // A third of the page.
        try session.host.reserve(bytes: Self.bytes(of: sizes, info.nativeFormat))
        let pyramid = try Pyramid(info.size, info.nativeFormat, until: settings.tile)
        if settings.pyramid == .subifd { try writer.setLevels(sizes.count) }
        pages.pyramid = pyramid
    }

    // MARK: Pixels

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        _ = try beginRows(frame)
        try addRows(surface)
    }

    public func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int {
        guard let info, let sink else { throw CoderError(.misuse, "begin comes first") }
        if layout != nil { throw .unsupported("a second page without beginItem") }
        let layout = BlockLayout(info.size, info.nativeFormat, settings)
        let exif = blobs.first { $0.kind == .exif }?.bytes
        let isReduced = isReduced(info.size)
        let bytes = (info.size.area ?? .max).multipliedReportingOverflow(by: info.nativeFormat.bytesPerPixel)
        let isBig = settings.isBig ?? (bytes.overflow || bytes.partialValue > 4_000_000_000)
        let writer =
            if let writer { writer } else {
                try TIFFWriter(
                    sink, isBig: isBig, isBigEndian: exif?.first == 0x4D, collects: settings.pyramid == .cog)
            }
        self.writer = writer
        pages.first = pages.first ?? info.size
        try session.host.reserve(bytes: 3 * layout.blockBytes)
        try PageFields(info, settings, layout).write(to: writer)
        if isReduced { try writer.set(254, 1) }
        if let name = pages.item?.name { try writer.set(285, text: Array(name.utf8)) }
        // Smaller versions need the profile; the rest would repeat that of the first page.
        let blobs = isReduced ? blobs.filter { $0.kind == .icc } : blobs
        try MetadataFields(session.host).write(blobs, orientation: info.orientation, to: writer)
        try beginPyramid(info, writer)
        self.layout = layout
        return layout.block.height
    }

    public func addRows(_ surface: borrowing Surface) throws(CoderError) {
        guard let writer, let layout, let info, surface.size.width == info.size.width,
            surface.format == info.nativeFormat, surface.size.height <= info.size.height - rowsDone,
            rowsDone % layout.block.height == 0
        else { throw CoderError(.misuse, "the rows differ from the header") }
        try write(surface, layout, at: rowsDone, of: info.size.height, to: writer)
        if let pyramid = pages.pyramid {
            for y in 0..<surface.size.height { surface.withRow(y) { pyramid.add($0) } }
        }
        rowsDone += surface.size.height
    }

    /// Writes the blocks of rows that begin at `done` of the page.
    private func write(
        _ surface: borrowing Surface, _ layout: BlockLayout, at done: Int, of height: Int, to writer: TIFFWriter
    ) throws(CoderError) {
        var bytes = [UInt8](repeating: 0, count: layout.blockBytes)
        var top = 0
        while top < surface.size.height {
            try session.host.checkCancellation()
            let rows = min(layout.block.height, surface.size.height - top)
            let line = (done + top) / layout.block.height
            for column in 0..<layout.across {
                fill(&bytes, layout, surface, top: top, rows: rows, column: column)
                // A tile always has all of its rows.
                let count = layout.isTiled ? layout.blockBytes : rows * layout.rowBytes
                try writer.write(&bytes, count: count, block: line * layout.across + column, isTile: layout.isTiled)
            }
            top += rows
            session.host.progress(done + top, of: height)
        }
    }

    /// Copies one block; a tile at the edge repeats the last column and row, which compresses well.
    private func fill(
        _ bytes: inout [UInt8], _ layout: BlockLayout, _ surface: borrowing Surface, top: Int, rows: Int, column: Int
    ) {
        let left = column * layout.block.width
        let width = min(layout.block.width, surface.size.width - left)
        let pixel = surface.format.bytesPerPixel
        for y in 0..<(layout.isTiled ? layout.block.height : rows) {
            surface.withRow(top + min(y, rows - 1)) { row in
                let start = y * layout.rowBytes
                if layout.isBilevel {
                    pack(row, left, width, into: &bytes, at: start, count: layout.rowBytes)
                    return
                }
                RowCopy.copy(row, left * pixel, width * pixel, to: &bytes, at: start)
                for x in width..<max(width, layout.block.width) {
                    RowCopy.copy(row, (left + width - 1) * pixel, pixel, to: &bytes, at: start + x * pixel)
                }
            }
        }
    }

    /// Packs gray samples into bits: 1 is black.
    private func pack(
        _ row: RawSpan, _ left: Int, _ width: Int, into target: inout [UInt8], at start: Int, count: Int
    ) {
        for offset in 0..<count {
            var byte: UInt8 = 0
            for bit in 0..<8 where offset * 8 + bit < width {
                let sample = row.byte(at: left + offset * 8 + bit)
                if sample < 128 { byte |= 0x80 >> bit }
                if sample != 0 && sample != 255 { hasGrays = true }
            }
            target[start + offset] = byte
        }
    }

    public func finish() throws(CoderError) {
        guard let writer, layout != nil else { throw CoderError(.misuse, "the image is not complete") }
        try endPage()
        if hasGrays { session.host.warn("gray levels became black or white") }
        if settings.pyramid != .cog { return try writer.finish() }
        try writer.finish { file throws(CoderError) in try CloudLayout(file).bytes }
    }
}

/// The division of an image into strips or tiles.
struct BlockLayout {
    let block: PixelSize
    let isTiled: Bool
    let isBilevel: Bool
    let across: Int
    let rowBytes: Int
    var blockBytes: Int { rowBytes * block.height }

    /// Strips of about 256 KiB: large enough for the compression, small enough for a reader of bands.
    private static let stripBytes = 256 << 10

    init(_ size: PixelSize, _ format: PixelFormat, _ settings: EncodeSettings) {
        isBilevel = settings.compression == .group4
        isTiled = settings.tile > 0
        let width = isTiled ? settings.tile : size.width
        let rowBytes = isBilevel ? (width + 7) / 8 : width * format.bytesPerPixel
        self.rowBytes = rowBytes
        across = (size.width - 1) / width + 1
        // The strips of JPEG must have a multiple of 16 rows; each strip of WebP is an image of its own.
        let least = settings.compression == .webp ? 256 : 16
        let rows = max(least, Self.stripBytes / rowBytes / 16 * 16)
        block = PixelSize(width, isTiled ? settings.tile : min(rows, max(16, size.height)))
    }
}
