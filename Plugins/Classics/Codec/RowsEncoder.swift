import CoderPluginKit
import ImageModel

/// Writes the rows of one file.
protocol RowWriter {
    /// Returns the formats that the file can hold, best first.
    static func formats(for info: ImageInfo) -> [PixelFormat]
    /// Whether the file stores the bottom row first.
    static var isFromBottom: Bool { get }

    /// - Parameter info: the facts of the output; its native format is one of ``formats(for:)``.
    init(_ info: ImageInfo, _ session: EncoderSession) throws(CoderError)

    /// Returns the bytes before the first row.
    func header() -> [UInt8]
    /// Appends a row.
    mutating func write(_ row: RawSpan, to output: inout [UInt8])
    /// Appends the bytes behind the last row.
    mutating func finish(_ output: inout [UInt8])
}

extension RowWriter {
    static var isFromBottom: Bool { false }
}

/// Encodes a format whose files are rows, whole or in bands.
final class RowsEncoder<Writer: RowWriter>: RowEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var writer: Writer?
    private var output: [UInt8] = []
    private var rowsDone = 0
    private var height = 0

    /// The number of bytes that are collected for one call of the host.
    private static var batch: Int { 1 << 16 }

    init(_ session: EncoderSession) { self.session = session }

    func acceptedFormats(for info: ImageInfo) -> [PixelFormat] { Writer.formats(for: info) }

    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        self.sink = sink
        height = info.size.height
        let writer = try Writer(info, session)
        output = writer.header()
        self.writer = writer
    }

    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int {
        if Writer.isFromBottom { throw .refused("the format begins with the bottom row") }
        return 1
    }

    func addRows(_ surface: borrowing Surface) throws(CoderError) {
        for y in 0..<surface.size.height { try add(y, surface) }
    }

    func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        let height = surface.size.height
        for row in 0..<height { try add(Writer.isFromBottom ? height - 1 - row : row, surface) }
    }

    private func add(_ y: Int, _ surface: borrowing Surface) throws(CoderError) {
        if rowsDone % 64 == 0 {
            try session.host.checkCancellation()
            session.host.progress(rowsDone, of: height)
        }
        surface.withRow(y) { writer?.write($0, to: &output) }
        rowsDone += 1
        if output.count >= Self.batch { try flush() }
    }

    func finish() throws(CoderError) {
        writer?.finish(&output)
        try flush()
    }

    private func flush() throws(CoderError) {
        guard let sink else { throw CoderError(.misuse, "begin comes first") }
        try sink.write(output)
        output.removeAll(keepingCapacity: true)
    }
}
