import CoderPluginKit
import ImageModel

/// Decodes DDS: smaller levels as reduced sizes; the images of arrays, cubes and volumes as items.
final class DDSDecoder: ItemDecoder {
    private let session: DecoderSession
    private var header: DDSHeader?
    private var image = 0
    private var level = 0
    private var rows: RowDecoder<DDSRows>?

    init(_ session: DecoderSession) { self.session = session }

    func readHeader() throws(CoderError) -> ImageInfo {
        let header = try known()
        return DDSRows(session, header, image: image, level: 0).info
    }

    private func known() throws(CoderError) -> DDSHeader {
        if let header { return header }
        let header = try DDSHeader(session)
        self.header = header
        return header
    }

    var pixelFormats: [PixelFormat] { header.map { [$0.layout.format] } ?? [] }

    func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        guard let header else { return size }
        let sizes = (0..<header.levels).map(header.size(level:))
        return sizes.last { $0.width >= wanted.width && $0.height >= wanted.height } ?? size
    }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let header = try known()
        let wanted = request.scaledSize ?? header.size
        guard let level = (0..<header.levels).first(where: { header.size(level: $0) == wanted }) else {
            throw CoderError(.misuse, "the file has no level of \(wanted)")
        }
        if rows == nil || level != self.level {
            rows = RowDecoder(session, DDSRows(session, header, image: image, level: level))
            self.level = level
        }
        var request = request
        request.scaledSize = nil
        guard let rows else { throw CoderError(.misuse, "the header has not been read") }
        return try rows.decode(request, into: surface)
    }

    // MARK: Items

    func itemCount() throws(CoderError) -> Int? { try known().images }

    func item(at index: Int) throws(CoderError) -> ImageItem? {
        let header = try known()
        guard index >= 0, index < header.images else { return nil }
        var info = DDSRows(session, header, image: index, level: 0).info
        info.hasItems = false
        return ImageItem(index == 0 ? .primary : .page, info: info, name: header.name(of: index))
    }

    func select(item index: Int) throws(CoderError) {
        guard index >= 0, index < (try known().images) else { throw .refused("there is no image \(index)") }
        image = index
        rows = nil
    }
}
