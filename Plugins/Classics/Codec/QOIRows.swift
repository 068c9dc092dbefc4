import CoderPluginKit
import ImageModel

/// The rows of a QOI file.
///
///     q o i f | w w w w | h h h h | channels | color space | chunks | 0 0 0 0 0 0 0 1
///
/// - Source: The Quite OK Image Format, version 1.0.
struct QOIRows: StoredRows {
    static let magic = Array("qoif".utf8)
    static let headerBytes = 14

    let info: ImageInfo
    private var input: RowInput
    private var state = QOIState()
    /// The pixels that a run of an earlier row still fills.
    private var run = 0

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.consume(Self.magic) else { throw .notMine() }
        let size = try PixelSize.checked(Int(try reader.u32BE()), Int(try reader.u32BE()), bits: 40, at: 4)
        let channels = try reader.u8()
        let space = try reader.u8()
        guard channels == 3 || channels == 4 else { throw .corrupt("QOI has 3 or 4 channels, not \(channels)", at: 12) }
        guard space <= 1 else { throw .corrupt("QOI has no color space \(space)", at: 13) }
        info = ImageInfo(
            size: size, nativeFormat: channels == 4 ? .rgba8 : .rgb8,
            color: ColorDescription(codePoints: space == 0 ? .sRGB : .linear), decodesRows: true)
        input = RowInput(source: session.source, offset: reader.offset)
    }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 else { return false }
        input.offset = Self.headerBytes
        state = QOIState()
        run = 0
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let width = info.size.width
        let hasAlpha = info.nativeFormat == .rgba8
        let (before, left) = (state, run)
        var (now, rest) = (before, left)
        // A chunk of five bytes is the longest for one pixel.
        try input.read(upTo: 5 * width) { bytes in
            (now, rest) = (before, left)
            return hasAlpha
                ? now.decode(bytes, width: width, run: &rest) {
                    row.storeBytes(of: $1, toByteOffset: 4 * $0, as: UInt32.self)
                }
                : now.decode(bytes, width: width, run: &rest) { x, pixel in
                    row.storeBytes(of: UInt8(truncatingIfNeeded: pixel), toByteOffset: 3 * x, as: UInt8.self)
                    row.storeBytes(of: UInt8(truncatingIfNeeded: pixel >> 8), toByteOffset: 3 * x + 1, as: UInt8.self)
                    row.storeBytes(of: UInt8(truncatingIfNeeded: pixel >> 16), toByteOffset: 3 * x + 2, as: UInt8.self)
                }
        }
        (state, run) = (now, rest)
    }
}
