import CoderPluginKit
import ImageModel

/// The metadata changes of a rewrite.
struct JPEGEdit {
    /// The fate of a segment.
    enum Fate {
        case stays
        case goes
        case becomes([UInt8])
    }

    /// New segments and their positions in the source, from front to back.
    private(set) var insertions: [(place: Int, rank: Int, bytes: [UInt8])] = []
    /// Kinds whose segments are removed, each with its replacement, if any.
    private var gone: Set<MetadataBlob.Kind>
    /// Kinds that the request removes.
    let removed: Set<MetadataBlob.Kind>
    /// Whether the segments of an extended packet are removed even if the packet itself stays.
    private var replacesExtension = false
    /// The extension that the packet of the new file announces, if that packet is new.
    private var announced: [UInt8]?
    /// The cut and transform of the pixels.
    private let turns: Bool
    private let isTransposed: Bool
    private let source: JPEGSource

    /// Plans the requested changes.
    ///
    /// - Parameter cut: nil if no pixel moves.
    /// - Throws: `.refused` for metadata that the format cannot store, `.invalidArgument` for two blobs of one kind.
    init(
        _ request: RewriteRequest, _ survey: JPEGSurvey, cut: JPEGCut?, _ source: JPEGSource, _ session: RewriteSession
    ) throws(CoderError) {
        self.source = source
        turns = cut != nil
        isTransposed = cut?.isTransposed ?? false
        gone = request.removed
        removed = request.removed
        try Self.check(request.replaced)
        for blob in request.replaced {
            switch blob.kind {
            case .exif: insert(try JPEGBlobs.exif(blob.bytes), rank: 1, survey)
            case .xmp:
                announced = ExtendedXMP.name(in: blob.bytes)
                insert(try JPEGBlobs.xmp(blob.bytes), rank: 2, survey)
            case .icc: insert(try JPEGBlobs.icc(blob.bytes), rank: 4, survey)
            case .text: insert(try JPEGBlobs.comment(blob.bytes), rank: 7, survey)
            case .iptc, .raw: break
            }
        }
        if turns, survey.hasThumbnail { session.host.warn("the JFIF thumbnail is dropped: \(Self.reason)") }
        try replaceExtension(request, survey, session)
        try editResources(request, survey, session)
        for blob in request.replaced where blob.kind != .raw { gone.insert(blob.kind) }
        insertions.sort { ($0.place, $0.rank) < ($1.place, $1.rank) }
    }

    /// Returns the fate of a metadata segment.
    func fate(of segment: JPEGSegment, _ content: JPEGContent) throws(CoderError) -> Fate {
        switch content {
        case .structure, .adobe: return .stays
        case .jfif: return turns ? try turned(segment) : .stays
        case .jfifExtension where turns: return .goes
        case .xmpExtension:
            if replacesExtension { return .goes }
            if !gone.contains(.xmp) { return .stays }
            // An edited packet still announces the extension of the source.
            guard let announced else { return .goes }
            let name = segment.body.dropFirst(JPEGContent.Name.xmpExtension.count)
            return try source.begins(name, with: announced) ? .stays : .goes
        default: return content.kind.map(gone.contains) == true ? .goes : .stays
        }
    }

    /// Whether a segment behind the first scan may be removed.
    var removesSegments: Bool { !gone.isEmpty || replacesExtension }

    /// Whether raw metadata is removed.
    var removesRest: Bool { gone.contains(.raw) }

    /// The reason for removing thumbnails.
    private static let reason = "it shows the image before the change"

    // MARK: Planning

    private static func check(_ blobs: [MetadataBlob]) throws(CoderError) {
        for (index, blob) in blobs.enumerated() {
            if blob.bytes.isEmpty {
                throw .invalidArgument("a blob of \(blob.kind) is empty", hint: "remove its kind instead")
            }
            switch blob.kind {
            case .raw where blob.key != ExtendedXMP.key:
                throw .refused("a JPEG cannot store raw metadata with the key \(blob.key ?? "(none)")")
            case .text where blob.key.map { $0.lowercased() != "comment" } == true:
                throw .refused("a JPEG cannot store text with the key \(blob.key ?? "")")
            case .text: break
            default:
                if blobs[..<index].contains(where: { $0.kind == blob.kind }) {
                    throw .invalidArgument("the request has two blobs of \(blob.kind)")
                }
            }
        }
    }

    /// Places segments at the first segment of their rank, or behind the last one of a lower rank.
    private mutating func insert(_ bytes: [UInt8], rank: Int, _ survey: JPEGSurvey) {
        let place = survey.leading.first[rank] ?? survey.leading.last[...rank].max() ?? 2
        insertions.append((place, rank, bytes))
    }

    private mutating func replaceExtension(
        _ request: RewriteRequest, _ survey: JPEGSurvey, _ session: RewriteSession
    ) throws(CoderError) {
        guard let blob = request.replaced.first(where: { $0.kind == .raw }) else { return }
        var name = announced
        if !request.replaced.contains(where: { $0.kind == .xmp }), !request.removed.contains(.xmp),
            let packet = survey.packet
        {
            name = ExtendedXMP.name(in: try source.bytes(packet))
        }
        guard let name else { throw .refused("no XMP packet announces the extended one") }
        insert(try JPEGBlobs.xmpExtension(blob.bytes, named: name), rank: 3, survey)
        replacesExtension = true
    }

    /// Changes the Photoshop resources that contain the IPTC record, and drops a thumbnail of another image.
    private mutating func editResources(
        _ request: RewriteRequest, _ survey: JPEGSurvey, _ session: RewriteSession
    ) throws(CoderError) {
        let record = request.replaced.first { $0.kind == .iptc }
        let stays = !request.removed.contains(.iptc) && !survey.resources.isEmpty
        guard record != nil || stays && turns else { return }
        var resources = PhotoshopResources([])
        if stays { resources = PhotoshopResources(try join(survey.resources, session.limits)) }
        guard var resources else {
            if record == nil { return session.host.warn("the Photoshop resources are damaged and stay as they are") }
            throw .refused("the Photoshop resources with the IPTC record are damaged")
        }
        let hadThumbnail = turns && resources.removeThumbnails()
        if hadThumbnail { session.host.warn("the Photoshop thumbnail is dropped: \(Self.reason)") }
        if let record { resources.replaceIPTC(with: record.bytes) }
        if record == nil, !hadThumbnail { return }
        insert(JPEGBlobs.resources(resources.bytes), rank: 6, survey)
        gone.insert(.iptc)
    }

    private func join(_ parts: [Range<Int>], _ limits: DecodeLimits) throws(CoderError) -> [UInt8] {
        let total = parts.reduce(0) { $0 + $1.count }
        if limits.maxMetadataBytes > 0, total > limits.maxMetadataBytes {
            throw .limit("metadata", allowed: limits.maxMetadataBytes, requested: total)
        }
        var joined: [UInt8] = []
        for part in parts { joined += try source.bytes(part) }
        return joined
    }

    /// Returns the JFIF segment without a thumbnail, with its two densities exchanged if the sides are.
    ///
    ///     "JFIF\0" | version 2 | unit 1 | across 2 | down 2 | thumbnail: width 1, height 1, RGB …
    ///
    /// - Source: JFIF 1.02.
    private func turned(_ segment: JPEGSegment) throws(CoderError) -> Fate {
        guard segment.body.count >= 14 else { return .stays }
        var body = try source.bytes(segment.body.prefix(14))
        if isTransposed { body.replaceSubrange(8..<12, with: [body[10], body[11], body[8], body[9]]) }
        body[12] = 0
        body[13] = 0
        return .becomes(JPEGSegment.make(segment.marker, body))
    }
}
