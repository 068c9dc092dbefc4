import CoderPluginKit

/// Encodes mosaics: each pixel is a tile.
final class MosaicEncoder: RowEncoder, ItemEncoder {
    private let session: EncoderSession
    private var output: (size: PixelSize, sink: ByteSink)?
    private var text: [UInt8] = []

    init(_ session: EncoderSession) { self.session = session }

    func acceptedFormats(for info: ImageInfo) -> [PixelFormat] { [.rgb8] }

    func begin(_ info: ImageInfo, to sink: ByteSink) { output = (info.size, sink) }

    func add(_ blob: MetadataBlob) -> Bool {
        guard blob.kind == .text, text.isEmpty else { return false }
        text = blob.bytes
        return true
    }

    // pages begins
    func beginItem(_ item: ItemDescription) throws(CoderError) {
        guard item.role == .primary || item.role == .page else { throw .refused("a mosaic has only pages") }
        text = []  // begin, add and the rows of this page follow
    }
    // pages ends

    // rows begins
    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int {
        guard let output else { throw CoderError(.misuse, "begin was not called") }
        try output.sink.write(MosaicPage.header(output.size, tile: 1, text: text))
        return 1  // bands may have any number of rows
    }

    func addRows(_ surface: borrowing Surface) throws(CoderError) {
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try session.host.checkCancellation() }
            try surface.withRow(y) { row throws(CoderError) in try output?.sink.write(row) }
        }
    }

    func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        _ = try beginRows(frame)
        try addRows(surface)
    }
    // rows ends

    /// Does nothing, because every row is already written.
    func finish() {}
}
