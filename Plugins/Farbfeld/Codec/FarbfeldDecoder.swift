public import CoderPluginKit
public import ImageModel

/// Decodes farbfeld, row by row as the bytes arrive.
///
///     f a r b f e l d | w w w w | h h h h | then w·h times R R G G B B A A
///
/// - Source: farbfeld(5).
public final class FarbfeldDecoder: ImageDecoder {
    static let magic = Array("farbfeld".utf8)
    static let headerBytes = 16

    private let session: DecoderSession
    /// Rows that are complete in the surface; decoding continues with the same surface.
    private var rowsDone = 0

    public init(_ session: DecoderSession) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo {
        var reader = ByteReader(session.source)
        guard try reader.consume(Self.magic) else { throw .notMine() }
        let size = PixelSize(Int(try reader.u32BE()), Int(try reader.u32BE()))
        // Nothing below overflows as long as eight bytes per pixel and the header fit.
        guard let area = size.area, area > 0, area <= (Int.max - Self.headerBytes) / 8 else {
            throw .corrupt("invalid image size \(size)", at: 8)
        }
        return ImageInfo(size: size, nativeFormat: .rgba16, bitDepth: 16)
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let source = session.source
        let height = surface.size.height
        let rowBytes = surface.bytesPerRow
        let first = rowsDone == height ? 0 : rowsDone
        // Keep this order: bytes that arrive after this check are found later, and not reported as missing.
        let isComplete = source.isComplete
        let there = min(height, max(0, source.available - Self.headerBytes) / rowBytes)

        for y in first..<max(first, there) {
            if y % 64 == 0 { try session.host.checkCancellation() }
            let start = Self.headerBytes + y * rowBytes
            source.withBytes(start..<start + rowBytes) { surface.writeRow(y, bigEndian16: $0) }
        }
        rowsDone = there
        if there == height { return .complete }
        if request.wantsPartial, there > first {
            return .partial(PixelRect(x: 0, y: first, width: surface.size.width, height: there - first))
        }
        throw isComplete ? .truncated("\(height - there) of \(height) rows are missing") : .needsInput
    }
}
