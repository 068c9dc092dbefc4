public import CoderPluginKit
internal import ISOBoxes
public import ImageModel

/// Decodes the still images of a HEIF file: HEVC (HEIC) or AV1 (AVIF).
///
/// The facts and the metadata come from the boxes, read here; libheif is asked for nothing but pixels. Rotation,
/// mirroring and cropping belong to the format, so pixels come out upright and the Exif orientation is only for show.
///
/// - Source: ISO/IEC 23008-12:2022 (HEIF); AV1 Image File Format 1.1.
public final class HEIFDecoder: ItemDecoder {
    private let session: DecoderSession
    private var file: File?
    private var image: Selected?

    /// What the boxes state.
    private struct File {
        let isMini: Bool
        let derivations: Derivations
        let images: [ListedImage]
    }

    /// The image that the calls concern.
    private struct Selected {
        let picture: Picture
        let info: ImageInfo
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo { try selected().info }

    public var pixelFormats: [PixelFormat] { image?.picture.formats ?? [] }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let picture = try selected().picture
        return try MetadataReader(table: try boxes().derivations.table, session: session)
            .blobs(of: picture.id, profile: picture.profile)
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let image = try selected()
        let region = request.region ?? PixelRect(image.picture.size)
        guard surface.size == region.size, PixelRect(image.picture.size).contains(region),
            image.picture.formats.contains(surface.format)
        else { throw CoderError(.misuse, "the surface does not fit the image") }
        // libheif finds items anywhere in the file; it cannot wait.
        guard session.source.isComplete else { throw .needsInput }
        if !(try boxes().isMini) { try Container.checkPlaces(in: session.source) }
        if let plan = try plan(for: image.picture) {
            try paint(plan, region, into: surface)
        } else {
            try decodeWhole(image.picture, region, into: surface)
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

    /// - Throws: `.refused` for any image that cannot be decoded but the primary one.
    private func described(_ index: Int, of file: File) throws(CoderError) -> Selected {
        do throws(CoderError) {
            let picture = try file.derivations.picture(file.images[index].id)
            return Selected(picture: picture, info: info(of: picture, at: index, of: file))
        } catch {
            if index == 0 || error.code == .needsInput { throw error }
            throw .refused(error.message)
        }
    }

    // MARK: Header

    private func boxes() throws(CoderError) -> File {
        if let file { return file }
        let container = try Container(session)
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
        return made
    }

    private func info(of picture: Picture, at index: Int, of file: File) -> ImageInfo {
        let plan = TilePlan(grid: picture.id, size: picture.size, in: file.derivations, from: session.source)
        let tiles = plan.flatMap { $0.tiles.count > 1 ? $0 : nil }
        // Exif of other images is read when it is asked for: thousands may share a large one.
        let orientation =
            index > 0
            ? nil : MetadataReader(table: file.derivations.table, session: session).storedOrientation(of: picture.id)
        return ImageInfo(
            size: picture.size, nativeFormat: picture.formats[0], bitDepth: picture.depth, hasAlpha: picture.hasAlpha,
            orientation: orientation, orientationApplied: true, isLossy: true,
            color: ColorDescription(codePoints: picture.codePoints, hasProfile: picture.profile != nil),
            hasItems: file.images.count > 1,
            tileSize: tiles.map { $0.placement.isTransposed ? $0.tile.transposed : $0.tile },
            regionCost: tiles == nil ? .whole : .tiles)
    }

    // MARK: Pixels

    private typealias Plan = (colors: TilePlan, alpha: TilePlan?)

    /// How to put the image together; nil where libheif does it.
    private func plan(for picture: Picture) throws(CoderError) -> Plan? {
        let derivations = try boxes().derivations
        let source = session.source
        guard let colors = TilePlan(grid: picture.id, size: picture.size, in: derivations, from: source) else {
            return nil
        }
        guard let alpha = try derivations.alpha(picture.id) else { return (colors, nil) }
        guard
            let plan = TilePlan(grid: alpha, size: picture.size, in: derivations, from: source)
                ?? TilePlan(single: alpha, size: picture.size, in: derivations)
        else { return nil }
        return (colors, plan)
    }

    private func paint(_ plan: Plan, _ region: PixelRect, into surface: borrowing Surface) throws(CoderError) {
        let derivations = try boxes().derivations
        let id = try selected().picture.id
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
        _ picture: Picture, _ region: PixelRect, into surface: borrowing Surface
    ) throws(CoderError) {
        let derivations = try boxes().derivations
        let members = derivations.closure(of: picture.id)
        try HeaderGuard(derivations: derivations).checkItems(members, in: session.source)
        try session.host.checkCancellation()

        let own = Self.libraryMemory(for: picture, sourceBytes: session.source.available)
        try session.host.reserve(bytes: own)
        // Giving back is never refused.
        defer { try? session.host.reserve(bytes: -own) }

        let excerpt = try Excerpt(members, in: derivations, from: session.source)
        let decoder = try HEIFPlanes(
            session, ArrivedBytes(session.source), excerpt, maxSide: maxSide, threads: threads(for: picture))
        let decoded = try decoder.decode(picture, asGray: picture.isGray)
        guard decoded.size.width >= picture.size.width, decoded.size.height >= picture.size.height else {
            throw .corrupt("the stream holds \(decoded.size) pixels, the file promises \(picture.size)")
        }
        if decoded.skippedCrop {
            session.host.warn("the clean aperture is outside of the image and was left out")
        } else if decoded.size != picture.size {
            session.host.warn("the stream holds \(decoded.size) pixels; the file says \(picture.size)")
        }
        if let warning = decoded.warning { session.host.warn("libde265: \(warning)") }
        let isLimited = picture.isGray && picture.codePoints.map { !$0.isFullRange } ?? decoded.isLimitedRange
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

    /// Threads for one stream. Those of HEVC share rows of blocks, at no cost; AV1 takes the least processor time with one.
    private func threads(for picture: Picture) -> Int {
        let wanted = picture.isAV1 ? session.options.integer(OptionKey.threads) ?? 1 : session.host.threadHint
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        return max(1, min(wanted, allowed, 16))
    }

    /// What libheif and its decoder hold at their peak: the stream twice, then the decoder's frame beside a copy of it,
    /// then that copy (4:2:0: one and a half samples a pixel) beside the planes of the result.
    static func libraryMemory(for picture: Picture, sourceBytes: Int, planes: Int? = nil) -> Int {
        let samples = (picture.size.area ?? 0) * (picture.depth > 8 ? 2 : 1)
        let planes = planes ?? (picture.isGray ? 1 : 3) + (picture.hasAlpha ? 1 : 0)
        return 2 * sourceBytes + samples * planes + samples * 3 / 2
    }
}
