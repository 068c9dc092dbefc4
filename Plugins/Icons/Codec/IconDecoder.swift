public import CoderPluginKit
public import ImageModel

/// Decodes ICO, CUR and ICNS: all sizes as items, the largest one first choice.
public final class IconDecoder: ItemDecoder {
    private let session: DecoderSession
    private var items: IconItems?

    public init(_ session: DecoderSession) { self.session = session }

    private func opened() throws(CoderError) -> IconItems {
        if let items { return items }
        guard session.source.isComplete else { throw .needsInput }
        let isICNS = session.source.bytes(0..<min(4, session.source.available)) == ICNSElement.magic
        let items = try IconItems(isICNS ? ICNSPlaces.all(session) : IconDirectory.places(session), session.host)
        self.items = items
        return items
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        let items = try opened()
        return try items.info(items.selected)
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] { try opened().metadata() }

    public var pixelFormats: [PixelFormat] { (try? items?.current.formats) ?? [] }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        try opened().current.decode(request, into: surface)
    }

    public func itemCount() throws(CoderError) -> Int? { try opened().count }
    public func item(at index: Int) throws(CoderError) -> ImageItem? { try opened().item(at: index) }
    public func select(item index: Int) throws(CoderError) { try opened().select(index) }
}
