public import CoderPluginKit
public import ImageModel

/// Decodes JPEG 2000: JP2 and JPX files and bare codestreams, HTJ2K among them.
///
/// This codec reads the boxes; OpenJPEG gets the codestream alone. Smaller sizes are those of the format, and a part is
/// decoded from the code-blocks that it touches.
///
/// - Source: ISO/IEC 15444-1 (JPEG 2000), 15444-2 (JPX), 15444-15 (HTJ2K).
public final class JP2Decoder: ImageDecoder {
    let session: DecoderSession
    private var container: Container?
    private var opened: Opened?
    private var info: ImageInfo?
    private var blobs: [MetadataBlob]?
    private var completeness: TileParts?
    private var painter: BandPainter?

    /// The headers of an open file.
    struct Opened {
        let container: Container
        let codestream: Codestream
        let plan: ChannelPlan
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Facts

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        let opened = try open()
        let (codestream, plan) = (opened.codestream, opened.plan)
        let size = Canvas(codestream).size
        guard !size.isEmpty, size.width < 1 << 31, size.height < 1 << 31 else {
            throw .corrupt("invalid image size \(size)")
        }
        let exif = try metadata().first { $0.kind == .exif }
        let tiles = codestream.tileCounts
        let canvas = Canvas(codestream)
        let made = ImageInfo(
            size: size, nativeFormat: plan.format, bitDepth: plan.bits,
            orientation: exif.flatMap { ExifOrientation.read($0.bytes) },
            isLossy: codestream.codings.contains { !$0.isReversible }, color: plan.color,
            density: opened.container.header.density, decodesRows: tiles.down > 1,
            tileSize: tiles == (1, 1)
                ? nil : PixelSize(codestream.tile.width / canvas.stepX, codestream.tile.height / canvas.stepY),
            regionCost: .tiles)
        for loss in plan.losses { session.host.warn(loss) }
        info = made
        return made
    }

    private func open() throws(CoderError) -> Opened {
        if let opened { return opened }
        let container = try readBoxes()
        // The boxes behind the codestream may state the orientation.
        if !container.isBare, !session.source.isComplete { throw .needsInput }
        let codestream = try Codestream(session.source, at: container.start)
        var planner = ChannelPlanner(codestream, container)
        let made = Opened(container: container, codestream: codestream, plan: try planner.plan())
        opened = made
        return made
    }

    private func readBoxes() throws(CoderError) -> Container {
        if let container { return container }
        let made = try Container(session)
        container = made
        return made
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        if let blobs { return blobs }
        let opened = try open()
        let made = opened.container.isBare ? [] : JP2Metadata(session, profile: opened.plan.profile).blobs
        blobs = made
        return made
    }

    // MARK: Pixels

    /// The bytes of the codestream that have arrived.
    private func range(_ container: Container) -> Range<Int> {
        let available = session.source.available
        return container.start..<max(container.start, min(container.statedEnd ?? available, available))
    }

    private func tileParts(_ opened: Opened) throws(CoderError) -> TileParts {
        if let completeness { return completeness }
        guard session.source.isComplete else { throw .needsInput }
        let end = opened.container.statedEnd
        let made = try TileParts(
            opened.codestream, session.source, stop: range(opened.container).upperBound,
            isClosed: end.map { $0 <= session.source.available } ?? false, session.host)
        completeness = made
        return made
    }

    /// How often the sides can be halved.
    private func levels(_ opened: Opened) -> Int {
        let stated = (try? tileParts(opened))?.levels
        return min(opened.codestream.levels, stated ?? .max)
    }

    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        guard let opened = try? open() else { return size }
        for reduction in stride(from: levels(opened), to: 0, by: -1) {
            let reduced = Canvas(opened.codestream, reduction: reduction).size
            if !reduced.isEmpty, reduced.width >= wanted.width, reduced.height >= wanted.height { return reduced }
        }
        return size
    }

    private func canvas(_ request: DecodeRequest, _ opened: Opened) throws(CoderError) -> Canvas {
        let full = Canvas(opened.codestream)
        guard let wanted = request.scaledSize, wanted != full.size else { return full }
        for reduction in 0...levels(opened) {
            let canvas = Canvas(opened.codestream, reduction: reduction)
            if canvas.size == wanted { return canvas }
        }
        throw .refused("the image has no level of \(wanted) pixels")
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let opened = try open()
        let parts = try tileParts(opened)
        let canvas = try canvas(request, opened)
        let region = request.region ?? PixelRect(canvas.size)
        guard surface.size == region.size, PixelRect(canvas.size).contains(region), !region.isEmpty,
            surface.format == opened.plan.format
        else { throw CoderError(.misuse, "the surface does not have the size or format of the image") }
        if parts.isCut, !request.wantsPartial { throw .truncated("the end of the codestream is missing") }
        let painter: BandPainter
        if let begun = self.painter, begun.canvas.reduction == canvas.reduction {
            painter = begun
        } else {
            self.painter?.release()
            painter = BandPainter(
                opened, canvas, range(opened.container), session, isHighThroughput: parts.isHighThroughput)
            self.painter = painter
        }
        try painter.paint(region, into: surface)
        return parts.isCut ? .partial(PixelRect(region.size)) : .complete
    }
}
