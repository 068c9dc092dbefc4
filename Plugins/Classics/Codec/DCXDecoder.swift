import CoderPluginKit
import ImageModel

/// Decodes DCX, a list of PCX files in one file: each is a page.
///
/// - Source: Intel's DCX format, as fax programs write it: a number, then at most 1023 positions and 0.
final class DCXDecoder: ItemDecoder {
    private let session: DecoderSession
    private var places: [Range<Int>] = []
    private var page = 0
    private var rows: RowDecoder<PCXRows>?

    private static let mostPages = 1023

    init(_ session: DecoderSession) { self.session = session }

    func readHeader() throws(CoderError) -> ImageInfo {
        try readPlaces()
        let rows = try selected()
        var info = try rows.readHeader()
        info.hasItems = places.count > 1
        return info
    }

    /// Reads the positions; a page ends where another one begins.
    private func readPlaces() throws(CoderError) {
        guard places.isEmpty else { return }
        var reader = ByteReader(session.source)
        guard try reader.bytes(4) == [0xb1, 0x68, 0xde, 0x3a] else { throw .notMine() }
        guard session.source.isComplete else { throw .needsInput }
        let end = session.source.available
        var starts: [Int] = []
        while starts.count < Self.mostPages {
            let bytes = try reader.bytes(4)
            let start = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
            if start == 0 { break }
            starts.append(start)
        }
        guard let first = starts.min() else { throw .corrupt("the list of pages is empty", at: 4) }
        guard first >= 4 + 4 * starts.count else { throw .corrupt("a page begins within the list of pages", at: 4) }
        guard first < end else { throw .truncated("the first page is missing") }
        let ends = (starts + [end]).sorted()
        places = starts.filter { $0 < end }.map { start in start..<min(end, ends.first { $0 > start } ?? end) }
        if places.count < starts.count {
            session.host.warn("\(starts.count - places.count) of \(starts.count) pages are behind the end of the file")
        }
    }

    private func decoder(of index: Int) -> RowDecoder<PCXRows> {
        RowDecoder(
            DecoderSession(
                source: session.source.window(places[index]), options: session.options, limits: session.limits,
                host: session.host))
    }

    private func selected() throws(CoderError) -> RowDecoder<PCXRows> {
        if let rows { return rows }
        let rows = decoder(of: page)
        _ = try Self.header(of: rows, page)
        self.rows = rows
        return rows
    }

    /// Reads the header of a page, which must be PCX.
    private static func header(of rows: RowDecoder<PCXRows>, _ page: Int) throws(CoderError) -> ImageInfo {
        do throws(CoderError) {
            return try rows.readHeader()
        } catch {
            if error.code == .notMine { throw .corrupt("page \(page) is no PCX") }
            throw error
        }
    }

    var pixelFormats: [PixelFormat] { rows?.pixelFormats ?? [] }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        try readPlaces()
        return try selected().decode(request, into: surface)
    }

    // MARK: Pages

    func itemCount() throws(CoderError) -> Int? {
        try readPlaces()
        return places.count
    }

    func item(at index: Int) throws(CoderError) -> ImageItem? {
        try readPlaces()
        guard places.indices.contains(index) else { return nil }
        return ImageItem(index == 0 ? .primary : .page, info: try Self.header(of: decoder(of: index), index))
    }

    func select(item index: Int) throws(CoderError) {
        try readPlaces()
        guard places.indices.contains(index) else { throw .refused("there is no page \(index)") }
        page = index
        rows = nil
    }
}
