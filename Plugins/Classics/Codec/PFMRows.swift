import CoderPluginKit
import ImageModel

/// The rows of a PFM file: `PF` for colors or `Pf` for gray, the sides, and a scale whose sign is the byte order.
///
/// - Source: pfm(5) of Netpbm. The samples are taken for linear light; the size of the scale has no agreed meaning.
struct PFMRows: StoredRows {
    let info: ImageInfo
    let isFromBottom = true
    private let isLittle: Bool
    private let start: Int
    private var input: RowInput

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.u8() == UInt8(ascii: "P") else { throw .notMine() }
        let kind = try reader.u8()
        guard kind == UInt8(ascii: "F") || kind == UInt8(ascii: "f") else { throw .notMine() }
        guard HeaderText.isSpace(try reader.u8()) else { throw .notMine() }
        let width = try HeaderText.number(&reader)
        let height = try HeaderText.number(&reader)
        let scale = try HeaderText.word(&reader, most: 64)
        guard let value = Double(scale), value != 0, value.isFinite else {
            throw .corrupt("the scale \"\(scale)\" is no number other than 0", at: reader.offset)
        }
        let format = PixelFormat(kind == UInt8(ascii: "F") ? .rgb : .gray, bits: 32, numeric: .float)
        let size = try PixelSize.checked(width, height, bits: 96, at: 3)
        isLittle = value < 0
        if abs(value) != 1 { session.host.debug("the scale \(scale) is not applied to the samples") }
        start = reader.offset
        input = RowInput(source: session.source, offset: start)
        info = ImageInfo(
            size: size, nativeFormat: format, bitDepth: 32, color: ColorDescription(codePoints: .linear),
            decodesRows: true)
    }

    mutating func begin(atRow row: Int) -> Bool {
        input.offset = start + row * info.size.width * info.nativeFormat.bytesPerPixel
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let isLittle = self.isLittle
        try input.read(exactly: row.byteCount) { bytes in
            for at in stride(from: 0, to: bytes.byteCount, by: 4) {
                var bits = UInt32(bytes.byte(at: at)) | UInt32(bytes.byte(at: at + 1)) << 8
                bits |= UInt32(bytes.byte(at: at + 2)) << 16 | UInt32(bytes.byte(at: at + 3)) << 24
                row.storeBytes(of: isLittle ? bits : bits.byteSwapped, toByteOffset: at, as: UInt32.self)
            }
        }
    }
}
