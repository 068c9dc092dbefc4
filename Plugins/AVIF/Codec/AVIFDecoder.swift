internal import AVIFShim
public import CoderPluginKit
internal import ISOBoxes
public import ImageModel

/// Decodes AVIF: stills with all images of the file, and sequences.
///
/// The decoder applies rotation, mirroring and cropping, which belong to the format. They alone decide: the orientation
/// in Exif and XMP is reported as that of upright pixels. Every frame is a full canvas that replaces the frame before;
/// the decoder also decodes the frames that it depends on.
///
/// - Source: AV1 Image File Format 1.1; ISO/IEC 23008-12:2022 (HEIF); ISO/IEC 14496-12:2022.
public final class AVIFDecoder: AnimationDecoder, ItemDecoder {
    private let session: DecoderSession
    private var file: File?
    /// The number of the item that calls refer to.
    private var selected = 0
    /// The last selected item, unless it was the primary one.
    private var further: (index: Int, image: OpenedImage, info: ImageInfo)?
    /// The index of the frame that `nextFrame` returns next.
    private var next = 0

    /// The file once its boxes are read.
    private struct File {
        let primary: OpenedImage
        let info: ImageInfo
        let track: Track?
        /// Whether libavif has read the boxes of the whole file, not only those of one image.
        let isWhole: Bool
        /// Nil if the item lists cannot be read.
        let boxes: ItemBoxes?
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Facts

    public func readHeader() throws(CoderError) -> ImageInfo { try current().info }

    public var pixelFormats: [PixelFormat] { (try? current())?.image.properties.formats ?? [] }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let limit = session.limits.maxMetadataBytes
        let file = try open()
        var blobs: [MetadataBlob] = []
        if let profile = try current().image.reader.blob(.icc, limit: limit) {
            blobs.append(MetadataBlob(.icc, profile))
        }
        if let boxes = file.boxes, selected > 0 || !file.isWhole {
            let reader = MetadataReader(table: boxes.table, session: session)
            return blobs + (try reader.blobs(of: boxes.images[selected].id, profile: nil))
        }
        let reader: AVIFReader
        do throws(CoderError) {
            reader = try metadataReader()
        } catch {
            // libavif reads the Exif and XMP items as a whole or not at all.
            guard error.code == .corrupt || error.code == .truncated, let boxes = file.boxes else { throw error }
            return blobs
                + (try MetadataReader(table: boxes.table, session: session).blobs(of: boxes.images[0].id, profile: nil))
        }
        if let exif = try reader.blob(.exif, limit: limit) {
            if let tiff = Self.tiff(exif) {
                blobs.append(MetadataBlob(.exif, tiff))
            } else {
                session.host.warn("ignored Exif data without a TIFF header")
            }
        }
        if let xmp = try reader.blob(.xmp, limit: limit) {
            blobs.append(MetadataBlob(.xmp, xmp))
        }
        return blobs
    }

    // MARK: Opening

    private func open() throws(CoderError) -> File {
        if let file { return file }
        let isSequence = try Container.brands(session.source)
        let boxes = ItemBoxes(session)
        // libavif takes another item with two types, and refuses other damage.
        var damage = isSequence ? nil : boxes?.table.damage
        let made: File
        do throws(CoderError) {
            made = try openWhole(boxes, isSequence: isSequence)
        } catch {
            guard error.code == .corrupt || error.code == .truncated, !isSequence, let boxes,
                let alone = try? open(alone: boxes)
            else { throw error }
            damage = damage ?? error.message
            made = alone
        }
        if let damage { session.host.warn("another item of the file is damaged: \(damage)") }
        file = made
        return made
    }

    /// Opens the file with all its items, unless libavif would join the tiles of the primary image in a wrong order.
    private func openWhole(_ boxes: ItemBoxes?, isSequence: Bool) throws(CoderError) -> File {
        let tiles = try explained { () throws(CoderError) in try ItemExtents.check(session.source) }
        if !isSequence, let boxes {
            try boxes.checkSupport()
            if boxes.hasUnorderedTiles { return try open(alone: boxes) }
        }
        let reader = try AVIFReader(session, maxFrames: session.limits.maxFrames, threads: threads)
        let facts = try explained { () throws(CoderError) in try reader.parse() }
        let item = isSequence ? nil : boxes.map { (id: $0.images[0].id, boxes: $0) }
        let image = try OpenedImage(reader, facts, session, tiles: tiles, item: item)
        let track = isSequence ? Track.shown(in: session.source) : nil
        for other in isSequence ? Track.otherKinds(in: session.source) : [] {
            session.host.warn("a track of the kind \(other.kind) is not decoded")
        }
        return File(
            primary: image, info: info(of: image, track, boxes), track: image.frames > 1 ? track : nil,
            isWhole: true, boxes: boxes)
    }

    /// Opens the primary image without the other items of the file.
    private func open(alone boxes: ItemBoxes) throws(CoderError) -> File {
        let id = boxes.images[0].id
        let image = try explained { () throws(CoderError) in
            try OpenedImage(id, in: boxes, session, threads: threads)
        }
        return File(primary: image, info: info(of: image, nil, boxes), track: nil, isWhole: false, boxes: boxes)
    }

    private func info(of image: OpenedImage, _ track: Track?, _ boxes: ItemBoxes?) -> ImageInfo {
        let properties = image.properties
        let isAnimated = image.frames > 1
        let tile = image.grid.map { properties.turns % 2 == 1 ? $0.colors.tile.transposed : $0.colors.tile }
        return ImageInfo(
            size: properties.size, nativeFormat: properties.formats[0], bitDepth: properties.depth,
            hasAlpha: properties.hasAlpha,
            orientation: .up, orientationApplied: true, frameCount: image.frames,
            loopCount: isAnimated ? track?.loopCount ?? .unknown : .unknown, isAnimated: isAnimated, isLossy: true,
            color: ColorDescription(codePoints: properties.codePoints, hasProfile: properties.hasProfile),
            hasItems: (boxes?.images.count ?? 1) > 1, tileSize: tile, regionCost: tile == nil ? .whole : .tiles)
    }

    /// Distinguishes cut from damaged data.
    private func explained<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            guard error.code == .corrupt, session.source.isComplete, Container.isCut(session.source) else {
                throw error
            }
            throw .truncated()
        }
    }

    /// Reads metadata in a second pass over the boxes: libavif reads Exif and XMP only together with them.
    private func metadataReader() throws(CoderError) -> AVIFReader {
        try session.host.checkCancellation()
        let reader = try AVIFReader(session, maxFrames: session.limits.maxFrames, threads: 1, metadata: true)
        _ = try explained { () throws(CoderError) in try reader.parse() }
        return reader
    }

    /// Skips the bytes before the TIFF header (often `Exif\0\0`); nil without a header.
    static func tiff(_ exif: [UInt8]) -> [UInt8]? {
        let headers: [[UInt8]] = [[0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A]]
        for start in exif.indices.prefix(64) where headers.contains(Array(exif[start...].prefix(4))) {
            return Array(exif[start...])
        }
        return nil
    }

    // MARK: Items

    public func itemCount() throws(CoderError) -> Int? { try open().boxes?.images.count ?? 1 }

    public func item(at index: Int) throws(CoderError) -> ImageItem? {
        let file = try open()
        guard let boxes = file.boxes else { return index == 0 ? ImageItem(.primary, info: file.info) : nil }
        guard boxes.images.indices.contains(index) else { return nil }
        let listed = boxes.images[index]
        let name = boxes.table.items[listed.id]?.name
        return ImageItem(
            listed.role, info: try opened(index).info, owner: listed.owner, group: listed.group,
            name: name?.isEmpty == false ? name : nil, kind: listed.kind)
    }

    public func select(item index: Int) throws(CoderError) {
        let count = try open().boxes?.images.count ?? 1
        guard (0..<count).contains(index) else { throw .refused("there is no item \(index)") }
        _ = try opened(index)
        (selected, next) = (index, 0)
    }

    /// - Throws: `.refused` for any image except the primary one that cannot be decoded.
    private func opened(_ index: Int) throws(CoderError) -> (image: OpenedImage, info: ImageInfo) {
        let file = try open()
        guard index > 0, let boxes = file.boxes else { return (file.primary, file.info) }
        if let further, further.index == index { return (further.image, further.info) }
        do throws(CoderError) {
            try session.host.checkCancellation()
            let image = try OpenedImage(boxes.images[index].id, in: boxes, session, threads: threads)
            let info = info(of: image, nil, boxes)
            further = (index, image, info)
            return (image, info)
        } catch {
            if [.needsInput, .cancelled, .deadlineExceeded].contains(error.code) { throw error }
            throw .refused(error.message)
        }
    }

    private func current() throws(CoderError) -> (image: OpenedImage, info: ImageInfo) { try opened(selected) }

    // MARK: Frames

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        let (image, info) = try current()
        guard next < image.frames else { return nil }
        try image.require(next)
        defer { next += 1 }
        let track = selected == 0 ? try open().track : nil
        return FrameInfo(
            index: next, rect: PixelRect(info.size), duration: track?.duration(of: next) ?? .unknown,
            hasAlpha: info.hasAlpha, isIndependent: image.reader.isKey(next))
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        let count = try current().image.frames
        guard (0..<count).contains(index) else { throw .invalidArgument("there is no frame \(index)") }
        next = index
        return index
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let (image, info) = try current()
        let region = request.region ?? PixelRect(info.size)
        guard surface.size == region.size, PixelRect(info.size).contains(region),
            image.properties.formats.contains(surface.format)
        else { throw CoderError(.misuse, "the surface does not have the size or format of the image") }
        let frame = max(0, next - 1)
        try image.require(frame)
        try image.decode(frame, region, into: surface)
        return .complete
    }

    /// The number of threads of the AV1 decoder; one thread needs the least processor time.
    private var threads: Int {
        let wanted = session.options.integer(OptionKey.threads) ?? 1
        let allowed = session.limits.maxThreads > 0 ? session.limits.maxThreads : 16
        return max(1, min(wanted, allowed, 16))
    }
}
