import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

/// Rows of an image in memory; remembers the requested rows.
private final class RecordingRows: RowSource {
    private let rows: BufferRows
    private(set) var requests: [Int] = []
    var size: PixelSize { rows.size }
    var format: PixelFormat { rows.format }

    init(_ buffer: PixelBuffer) { rows = BufferRows(buffer) }

    func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        requests.append(y)
        return try rows.withRow(y, body)
    }
}

@Suite struct `Rows of a part` {
    @Test(arguments: [0, 1, 3]) func `are requested from the top of the image, without a gap`(y: Int) throws {
        let bytes = (0..<4 * 6).map { UInt8($0) }
        let source = RecordingRows(try .of(PixelSize(4, 6), .gray8, bytes))
        let rows = try CroppedRows(source, to: PixelRect(x: 1, y: y, width: 2, height: 2))
        var found: [UInt8] = []

        for row in 0..<2 {
            try rows.withRow(row) { span throws(CoderError) in
                found += span.byteOffsets.map { unsafe span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
            }
        }

        #expect(found == [4 * y + 1, 4 * y + 2, 4 * y + 5, 4 * y + 6].map { UInt8($0) })
        #expect(source.requests == Array(0..<y + 2), "rows below the part are not read")
    }
}
