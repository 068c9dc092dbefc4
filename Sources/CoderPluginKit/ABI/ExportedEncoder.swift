internal import CCoderPlugin
internal import ImageModel

/// An encoding session of the host: its state in the sequence of `cpi/encoder.h`, and the author's encoder.
final class ExportedEncoder: ExportedSession {
    private enum State { case opened, begun, rows, framed, finished }

    let host: HostServices
    private let roles: CoderRoles
    private let encoder: any ImageEncoder
    private var state = State.opened
    private var format: PixelFormat?
    /// A frame that arrives in bands: its size, the rows done, and the multiple for the rows of a band.
    private var rows: (size: PixelSize, done: Int, multiple: Int)?
    /// The one sink of all items.
    private var sink: ByteSink?

    init(_ coder: Coder, session: EncoderSession) throws(CoderError) {
        guard let type = coder.encoder else { throw .unsupported("encoding") }
        host = session.host
        roles = coder.roles
        encoder = try type.init(session)
        super.init(maySuspend: false)
    }

    func accept(_ info: ImageInfo, _ index: Int) throws(CoderError) -> PixelFormat? {
        guard state == .opened else { throw outOfSequence("accept") }
        let formats = try encoder.acceptedFormats(for: info)
        return index < formats.count ? formats[index] : nil
    }

    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard state == .opened else { throw outOfSequence("begin") }
        format = info.nativeFormat
        let sink = self.sink ?? sink
        self.sink = sink
        try encoder.begin(info, to: sink)
        state = .begun
    }

    /// Begins the next item in the author's encoder.
    ///
    /// - Throws: `.refused` if the output cannot contain it.
    @unsafe
    func nextItem(_ pointer: UnsafePointer<cpi_item>) throws(CoderError) {
        guard state == .opened || state == .framed else { throw outOfSequence("next_item") }
        guard let encoder = encoder as? any ItemEncoder else { throw .refused("this encoder writes one image") }
        unsafe try encoder.beginItem(ItemDescription(pointer))
        state = .opened
    }

    /// Passes metadata to the author's encoder.
    ///
    /// - Throws: `.refused` if the format cannot carry it.
    @unsafe
    func add(_ pointer: UnsafePointer<cpi_blob>) throws(CoderError) {
        guard state == .begun else { throw outOfSequence("add_blob") }
        guard unsafe try encoder.add(MetadataBlob(pointer)) else {
            throw .refused("the format cannot carry this kind of metadata")
        }
    }

    /// Returns the table of an extension that the author's encoder supports.
    func table(_ id: UnsafePointer<CChar>) -> UnsafeRawPointer? {
        if encoder is any ThumbnailEncoder, unsafe isEqual(id, CPI_EXT_THUMBNAIL_ENCODE) {
            return unsafe UnsafeRawPointer(Self.thumbnailTable.pointer)
        }
        if encoder is any ItemEncoder, unsafe isEqual(id, CPI_EXT_ENCODE_ITEMS) {
            return unsafe UnsafeRawPointer(Self.itemsTable.pointer)
        }
        if encoder is any RowEncoder, unsafe isEqual(id, CPI_EXT_ENCODE_ROWS) {
            return unsafe UnsafeRawPointer(Self.rowsTable.pointer)
        }
        return nil
    }

    /// Passes a thumbnail to the author's encoder.
    ///
    /// - Throws: `.refused` if the output will have no thumbnail.
    func addThumbnail(_ surface: borrowing Surface) throws(CoderError) {
        guard state == .begun else { throw outOfSequence("thumbnail add") }
        guard surface.format == .gray8 || surface.format == .rgb8 else {
            throw CoderError(.misuse, "a thumbnail must be gray8 or rgb8")
        }
        guard let encoder = encoder as? any ThumbnailEncoder else { throw .refused("this encoder has no thumbnails") }
        try encoder.addThumbnail(pixels: surface)
    }

    // MARK: Rows

    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int {
        guard state == .begun else { throw outOfSequence("begin_rows") }
        guard let encoder = encoder as? any RowEncoder else { throw .refused("this encoder accepts only whole frames") }
        let multiple = try encoder.beginRows(frame)
        guard multiple > 0 else { throw CoderError(.pluginFault, "the encoder requested bands of 0 rows") }
        rows = (frame.rect.size, 0, multiple)
        state = .rows
        return multiple
    }

    func addRows(_ surface: borrowing Surface) throws(CoderError) {
        guard state == .rows, let encoder = encoder as? any RowEncoder, var rows else {
            throw outOfSequence("add_rows")
        }
        let end = rows.done + surface.size.height
        guard surface.format == format, surface.size.width == rows.size.width, end <= rows.size.height,
            end == rows.size.height || surface.size.height.isMultiple(of: rows.multiple)
        else { throw CoderError(.misuse, "the band does not have the agreed format, width and number of rows") }
        try encoder.addRows(surface)
        rows.done = end
        self.rows = rows
        if end == rows.size.height { state = .framed }
    }

    func add(_ frame: FrameInfo, _ surface: borrowing Surface) throws(CoderError) {
        switch state {
        case .begun: break
        case .framed where roles.contains(.encodeAnimation): break
        default: throw outOfSequence("add_frame")
        }
        guard surface.format == format, surface.size == frame.rect.size else {
            throw CoderError(.misuse, "the surface does not have the agreed format and the size of the frame")
        }
        try encoder.add(frame, pixels: surface)
        state = .framed
    }

    func finish() throws(CoderError) {
        guard state == .framed else { throw outOfSequence("finish") }
        try encoder.finish()
        state = .finished
    }
}
