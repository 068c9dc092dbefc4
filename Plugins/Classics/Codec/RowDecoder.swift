import CoderPluginKit
import ImageModel

/// Decodes a format whose files are rows, whole, in bands, or as the bytes arrive.
final class RowDecoder<Rows: StoredRows>: ImageDecoder {
    private let session: DecoderSession
    private var rows: Rows?
    /// The row that `rows` decodes next, in the order of the file.
    private var position = 0
    private var hasWarned = false
    /// The rows of a request that could not be finished yet.
    private var unfinished: (rows: Range<Int>, next: Int)?

    init(_ session: DecoderSession) { self.session = session }

    /// Creates a decoder of rows whose header has been read.
    init(_ session: DecoderSession, _ rows: Rows) { (self.session, self.rows) = (session, rows) }

    func readHeader() throws(CoderError) -> ImageInfo {
        if let rows { return rows.info }
        let rows = try Rows(session)
        self.rows = rows
        return rows.info
    }

    var pixelFormats: [PixelFormat] { rows?.formats ?? [] }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        guard var rows else { throw CoderError(.misuse, "the header has not been read") }
        // One owner at a time, so that the buffers of the rows are never copied.
        self.rows = nil
        defer { self.rows = rows }
        let size = rows.info.size
        let region = request.region ?? PixelRect(size)
        guard rows.formats.contains(surface.format), surface.size == region.size, region.x == 0,
            region.width == size.width, PixelRect(size).contains(region)
        else { throw CoderError(.misuse, "the surface does not have the size or format of the rows") }
        rows.choose(surface.format)
        let first = rows.isFromBottom ? size.height - region.y - region.height : region.y
        let wanted = first..<first + region.height
        let start = unfinished?.rows == wanted ? unfinished?.next ?? first : first
        var row = start
        do throws(CoderError) {
            try move(&rows, to: start, surface.format)
            while row < wanted.upperBound {
                if row % 64 == 0 {
                    try session.host.checkCancellation()
                    session.host.progress(row - first, of: region.height)
                }
                let y = rows.isFromBottom ? size.height - 1 - row : row
                try surface.withMutableRow(y - region.y) { span throws(CoderError) in try rows.next(&span) }
                row += 1
                position = row
            }
        } catch {
            unfinished = (wanted, row)
            guard request.wantsPartial, row > start, [.needsInput, .truncated].contains(error.code) else {
                throw Self.named(error, missing: size.height - row, of: size.height)
            }
            let top = rows.isFromBottom ? size.height - row : start
            return .partial(PixelRect(x: 0, y: top - region.y, width: size.width, height: row - start))
        }
        unfinished = nil
        if let warning = rows.warning, !hasWarned {
            session.host.warn(warning)
            hasWarned = true
        }
        return .complete
    }

    private static func named(_ error: CoderError, missing: Int, of height: Int) -> CoderError {
        error.code == .truncated ? .truncated("\(missing) of \(height) rows are missing") : error
    }

    /// Makes `row` the next row to decode.
    private func move(_ rows: inout Rows, to row: Int, _ format: PixelFormat) throws(CoderError) {
        if row == position { return }
        if rows.begin(atRow: row) {
            position = row
            return
        }
        if row < position {
            _ = rows.begin(atRow: 0)
            position = 0
        }
        let ignored = try PixelBuffer(size: PixelSize(rows.info.size.width, 1), format: format)
        while position < row {
            if position % 64 == 0 { try session.host.checkCancellation() }
            try ignored.withMutableRow(0) { span throws(CoderError) in try rows.next(&span) }
            position += 1
        }
    }
}
