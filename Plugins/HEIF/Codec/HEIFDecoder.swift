public import CoderPluginKit
internal import ISOBoxes
public import ImageModel

/// Decodes the still images of a HEIF file: HEVC (HEIC) or AV1 (AVIF).
///
/// Facts and metadata come from the boxes, which this decoder reads; libheif delivers only pixels. The decoder applies
/// rotation, mirroring and cropping, which belong to the format. They alone decide: the orientation in Exif and XMP is
/// reported as that of upright pixels.
///
/// - Source: ISO/IEC 23008-12:2022 (HEIF); AV1 Image File Format 1.1.
public final class HEIFDecoder: ItemDecoder {
    private let session: DecoderSession
    private var file: File?
    private var image: Selected?
    private var hasWarnedOfSequence = false

    /// The contents of the boxes.
    private struct File {
        let isMini: Bool
        let derivations: Derivations
        let images: [ListedImage]
    }

    /// The image that calls refer to.
    private struct Selected {
        let still: Image
        let info: ImageInfo
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo { try selected().info }

    public var pixelFormats: [PixelFormat] { image?.still.formats ?? [] }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let still = try selected().still
        return try MetadataReader(table: try boxes().derivations.table, session: session)
            .blobs(of: still.id, profile: still.profile)
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let image = try selected()
        let region = request.region ?? PixelRect(image.still.size)
        guard surface.size == region.size, PixelRect(image.still.size).contains(region),
            image.still.formats.contains(surface.format)
        else { throw CoderError(.misuse, "the surface does not have the size or format of the image") }
        let isComplete = session.source.isComplete
        if !isComplete { try requireBytes(of: image.still.id) }
        warnOfSequence()
        if isComplete, !(try boxes().isMini) { try Container.checkPlaces(in: session.source) }
        if let plan = try plan(for: image.still, in: try boxes().derivations) {
            try paint(plan, region, into: surface)
        } else {
            try decodeWhole(image.still, region, into: surface)
        }
        return .complete
    }

    // MARK: Items

    public func itemCount() throws(CoderError) -> Int? { try boxes().images.count }

    public func item(at index: Int) throws(CoderError) -> ImageItem? {
        let file = try boxes()
        guard file.images.indices.contains(index) else { return nil }
        let listed = file.images[index]
        let name = file.derivations.table.items[listed.id]?.name
        return ImageItem(
            listed.role, info: try described(index, of: file).info, owner: listed.owner, group: listed.group,
            name: name?.isEmpty == false ? name : nil, kind: listed.kind)
    }

    public func select(item index: Int) throws(CoderError) {
        let file = try boxes()
        guard file.images.indices.contains(index) else { throw .refused("there is no item \(index)") }
        image = try described(index, of: file)
    }

    /// - Throws: `.refused` for any image except the primary one that cannot be decoded.
    private func described(_ index: Int, of file: File) throws(CoderError) -> Selected {
        do throws(CoderError) {
            var still = try file.derivations.still(file.images[index].id)
            if try plan(for: still, in: file.derivations) != nil { still.adoptTiles(file.derivations.table) }
            return Selected(still: still, info: info(of: still, of: file))
        } catch {
            if index == 0 || error.code == .needsInput { throw error }
            throw .refused(error.message)
        }
    }

    // MARK: Header

    private func boxes() throws(CoderError) -> File {
        if let file { return file }
        let container = try Container(session)
        if let damage = container.table.damage {
            session.host.warn("another item of the file is damaged: \(damage)")
        }
        let made = File(
            isMini: container.isMini, derivations: Derivations(container.table, limits: session.limits),
            images: ItemList(container.table).images)
        file = made
        return made
    }

    private func selected() throws(CoderError) -> Selected {
        if let image { return image }
        let made = try described(0, of: try boxes())
        image = made
        warnOfSequence()
        return made
    }

    /// Warns about frames that are not decoded, as soon as the boxes that count them have arrived.
    private func warnOfSequence() {
        guard !hasWarnedOfSequence, let count = FrameTrack.frameCount(in: session.source), count > 1 else { return }
        hasWarnedOfSequence = true
        session.host.warn(
            "the file holds a sequence of \(count) frames, which this coder does not decode: only the primary image is")
    }

    private func info(of still: Image, of file: File) -> ImageInfo {
        let plan = TilePlan(grid: still.id, size: still.size, in: file.derivations, from: session.source)
        let tiles = plan.flatMap { $0.tiles.count > 1 ? $0 : nil }
        return ImageInfo(
            size: still.size, nativeFormat: still.formats[0], bitDepth: still.depth, hasAlpha: still.hasAlpha,
            orientation: .up, orientationApplied: true, isLossy: true,
            color: ColorDescription(codePoints: still.codePoints, hasProfile: still.profile != nil),
            hasItems: file.images.count > 1,
            tileSize: tiles.map { $0.placement.isTransposed ? $0.tile.transposed : $0.tile },
            regionCost: tiles == nil ? .whole : .tiles)
    }

    // MARK: Pixels

    /// Throws unless an image other than the primary one, such as a thumbnail, has arrived in a file that still grows.
    ///
    /// libheif cannot wait for bytes. The primary image needs the complete file, because a later box may contradict it.
    private func requireBytes(of id: UInt32) throws(CoderError) {
        let derivations = try boxes().derivations
        let table = derivations.table
        guard id != table.primary else { throw .needsInput }
        for member in derivations.closure(of: id) {
            for extent in table.items[member]?.extents ?? [] {
                // A length of 0 means "up to the end".
                guard extent.method == 1 || extent.length > 0 else { throw .needsInput }
                _ = try table.place(extent, in: session.source)
            }
        }
    }

    private typealias Plan = (colors: TilePlan, alpha: TilePlan?)

    /// Returns the tiles to decode; nil if libheif decodes the whole image.
    private func plan(for still: Image, in derivations: Derivations) throws(CoderError) -> Plan? {
        let source = session.source
        guard let colors = TilePlan(grid: still.id, size: still.size, in: derivations, from: source) else {
            return nil
        }
        guard let alpha = try derivations.alpha(still.id) else { return (colors, nil) }
        guard
            let plan = TilePlan(grid: alpha, size: still.size, in: derivations, from: source)
                ?? TilePlan(single: alpha, size: still.size, in: derivations)
        else { return nil }
        return (colors, plan)
    }

    private func paint(_ plan: Plan, _ region: PixelRect, into surface: borrowing Surface) throws(CoderError) {
        let derivations = try boxes().derivations
        let id = try selected().still.id
        let alpha = try derivations.alpha(id)
        let read = [plan.colors, plan.alpha].compactMap { $0 }.flatMap { $0.places(in: region).map(\.tile) }
        let members = [id] + (alpha.map { [$0] } ?? []) + read
        try HeaderGuard(derivations: derivations).checkItems(
            Array(Set(members)), in: session.source, byTile: true)
        let painter = GridPainter(session: session, derivations: derivations, maxSide: maxSide)
        var findings = try painter.paint(plan.colors, region, isAlpha: false, into: surface)
        if let alpha = plan.alpha, surface.format.channels.hasAlpha {
            let found = try painter.paint(alpha, region, isAlpha: true, into: surface)
            findings.hasGaps = findings.hasGaps || found.hasGaps
            findings.warning = findings.warning ?? found.warning
        }
        if let warning = findings.warning { session.host.warn("libde265: \(warning)") }
        if findings.hasGaps { throw .truncated("the HEVC slices do not cover the image") }
    }

    private func decodeWhole(
        _ still: Image, _ region: PixelRect, into surface: borrowing Surface
    ) throws(CoderError) {
        let derivations = try boxes().derivations
        let members = derivations.closure(of: still.id)
        try HeaderGuard(derivations: derivations).checkItems(members, in: session.source)
        try session.host.checkCancellation()

        let own = Self.libraryMemory(for: still, sourceBytes: session.source.available)
        try session.host.reserve(bytes: own)
        // Freeing reserved memory never fails.
        defer { try? session.host.reserve(bytes: -own) }

        let excerpt = try Excerpt(members, in: derivations, from: session.source)
        let decoder = try HEIFPlanes(
            session, ArrivedBytes(session.source), excerpt, maxSide: maxSide, threads: threads(for: still))
        let decoded = try decoder.decode(still, asGray: still.isGray)
        guard decoded.size.width >= still.size.width, decoded.size.height >= still.size.height else {
            throw .corrupt("the stream has \(decoded.size) pixels, the file declares \(still.size)")
        }
        if decoded.skippedCrop {
            session.host.warn("ignored a clean aperture outside the image")
        } else if decoded.size != still.size {
            session.host.warn("the stream has \(decoded.size) pixels; the file declares \(still.size)")
        }
        if let warning = decoded.warning { session.host.warn("libde265: \(warning)") }
        let isLimited = still.isGray && still.codePoints.map { !$0.isFullRange } ?? decoded.isLimitedRange
        let target = PaintTarget(surface)
        var row = 0
        while row < region.height {
            try session.host.checkCancellation()
            let end = min(row + 64, region.height)
            let part = PixelRect(x: region.x, y: region.y + row, width: region.width, height: end - row)
            try decoder.paint(
                TilePlan.Place(part: part, target: Placement.Step(0, row)), expandingRange: isLimited, into: target)
            session.host.progress(end, of: region.height)
            row = end
        }
        if decoded.hasGaps { throw .truncated("the HEVC slices do not cover the image") }
    }

    private var maxSide: Int { session.limits.maxSide > 0 ? session.limits.maxSide : 1 << 20 }

    /// Returns the number of threads for one stream. Threads of HEVC share rows of blocks, at no cost; AV1 needs the
    /// least processor time with one thread.
    private func threads(for still: Image) -> Int {
        let wanted = still.isAV1 ? session.options.integer(OptionKey.threads) ?? 1 : session.host.threadHint
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        return max(1, min(wanted, allowed, 16))
    }

    /// The peak memory of libheif and its decoder: the stream twice, then the decoder's frame and a copy of it, then
    /// that copy (4:2:0: one and a half samples per pixel) and the planes of the result.
    static func libraryMemory(for still: Image, sourceBytes: Int, planes: Int? = nil) -> Int {
        let samples = (still.size.area ?? 0) * (still.depth > 8 ? 2 : 1)
        let planes = planes ?? (still.isGray ? 1 : 3) + (still.hasAlpha ? 1 : 0)
        return 2 * sourceBytes + samples * planes + samples * 3 / 2
    }
}
