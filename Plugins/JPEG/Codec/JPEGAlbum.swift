import CoderPluginKit
import ImageModel

/// The images of a file except the first: its embedded thumbnails, then the images of its index (MPF).
///
/// Opening a file reads only the index. The album reads the images when the caller requests items.
///
/// - Source: CIPA DC-007-2021 section 5.2.
final class JPEGAlbum {
    private let session: DecoderSession
    private let window: Int
    private let markers: JPEGMarkers
    /// The size of the first image.
    private let size: PixelSize
    private let thumbnails: [JPEGThumbnail]
    /// The index, or its error.
    private let index: Result<MultiPictureIndex, CoderError>?
    private var further: [MultiPictureIndex.Image]?
    private var described: [Int: ImageItem] = [:]

    /// The group number of related views: a file has one index, and so one group.
    private static let views = 1

    init(_ markers: JPEGMarkers, of size: PixelSize, _ decoder: JPEGDecoder) throws(CoderError) {
        session = decoder.session
        window = decoder.window
        self.markers = markers
        self.size = size
        thumbnails = JPEGThumbnail.all(markers, of: size, session)
        guard let segment = markers.multiPicture else {
            index = nil
            return
        }
        do throws(CoderError) {
            index = .success(try MultiPictureIndex(at: segment, JPEGSource(session.source)))
        } catch {
            guard error.code == .corrupt else { throw error }
            index = .failure(error)
        }
    }

    /// Whether the file has only the first image; a damaged index counts as images, so that its damage is reported.
    var isEmpty: Bool {
        guard thumbnails.isEmpty, let index else { return thumbnails.isEmpty }
        return (try? index.get().hasFurther) == false
    }

    /// The number of items including the first image.
    ///
    /// - Throws: `.needsInput` if the source is not complete and has an index.
    func count() throws(CoderError) -> Int { 1 + thumbnails.count + (try images()).count }

    /// The group of the first image.
    var group: Int? { (try? index?.get().firstKind) == .multiFrame ? Self.views : nil }

    /// Describes item `number`, from 1; nil behind the last.
    ///
    /// - Throws: `.refused` for a damaged image, `.needsInput`.
    func item(_ number: Int) throws(CoderError) -> ImageItem? {
        let place = number - 1
        if place < thumbnails.count { return ImageItem(.thumbnail, info: thumbnails[place].info, owner: 0) }
        if let item = described[number] { return item }
        let images = try images()
        guard place - thumbnails.count < images.count else { return nil }
        return try open(images[place - thumbnails.count], number).item
    }

    /// Opens item `number`, from 1, which ``item(_:)`` has described.
    func open(_ number: Int) throws(CoderError) -> Opened? {
        guard let item = try item(number) else { return nil }
        let place = number - 1
        if place < thumbnails.count {
            return Opened(item: item, image: .thumbnail(thumbnails[place], session))
        }
        return try open(try images()[place - thumbnails.count], number)
    }

    // MARK: Images of the index

    private func images() throws(CoderError) -> [MultiPictureIndex.Image] {
        if let further { return further }
        var found: [MultiPictureIndex.Image] = []
        if let index {
            // The images come behind the first one, usually at the end of the file.
            guard session.source.isComplete else { throw .needsInput }
            do throws(CoderError) {
                found = try index.get().images(behind: markers.end, JPEGSource(session.source))
            } catch {
                guard error.code == .corrupt else { throw error }
                if case .success(let index) = index {
                    found = try index.movedImages(behind: markers.end, JPEGSource(session.source)) ?? []
                }
                session.host.warn(
                    found.isEmpty
                        ? "\(error.message); the images behind the first are not listed"
                        : "the index of further images (MPF) is stale: the images are found behind the first one")
            }
        }
        further = found
        return found
    }

    /// Reads the header of a further image, but not its own index.
    private func open(_ image: MultiPictureIndex.Image, _ number: Int) throws(CoderError) -> Opened {
        let source = session.source.window(image.bytes)
        let inner = DecoderSession(
            source: source, options: session.options, limits: session.limits, host: session.host)
        let decoder = JPEGDecoder(inner, window: window, listsItems: false)
        do throws(CoderError) {
            var info = try decoder.readHeader()
            info.hasItems = true
            let item = described[number] ?? describe(image, info, JPEGMarkers(source), source)
            described[number] = item
            return Opened(item: item, image: .decoder(decoder))
        } catch {
            switch error.code {
            case .corrupt, .truncated, .notMine, .unsupportedFeature, .limitExceeded, .needsInput:
                throw .refused("the image at byte \(image.bytes.lowerBound) cannot be decoded: \(error.message)")
            default: throw error
            }
        }
    }

    private func describe(
        _ image: MultiPictureIndex.Image, _ info: ImageInfo, _ markers: JPEGMarkers, _ source: ByteSource
    ) -> ImageItem {
        switch image.kind {
        case .primary: return ImageItem(.page, info: info)
        case .multiFrame: return ImageItem(.page, info: info, group: Self.views)
        case .largeThumbnail where (info.size.area ?? .max) <= (size.area ?? 0):
            return ImageItem(.thumbnail, info: info, owner: 0)
        case .largeThumbnail, .other:
            let kind = GainMap.kind(of: markers, xmp: markers.xmp.map { source.bytes($0) } ?? [])
            return ImageItem(kind == nil ? .alternative : .auxiliary, info: info, owner: 0, kind: kind)
        }
    }
}

extension JPEGAlbum {
    /// The item that the calls of a decoder refer to.
    struct Opened {
        let item: ImageItem
        let image: Image

        enum Image {
            case decoder(JPEGDecoder)
            case thumbnail(JPEGThumbnail, DecoderSession)
        }

        func metadata() throws(CoderError) -> [MetadataBlob] {
            guard case .decoder(let decoder) = image else { return [] }
            return try decoder.metadata()
        }

        var pixelFormats: [PixelFormat] {
            guard case .decoder(let decoder) = image else { return [] }
            return decoder.pixelFormats
        }

        func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
            guard case .decoder(let decoder) = image else { return size }
            return decoder.scaledSize(atLeast: wanted, of: size)
        }

        func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
            switch image {
            case .decoder(let decoder): return try decoder.decode(request, into: surface)
            case .thumbnail(let thumbnail, let session):
                guard request.region == nil else { throw .refused("an embedded thumbnail is decoded as a whole") }
                try thumbnail.decode(into: surface, session)
                return .complete
            }
        }

        /// Frees the memory of a decode that has begun.
        func close() {
            if case .decoder(let decoder) = image { decoder.close() }
        }
    }
}
