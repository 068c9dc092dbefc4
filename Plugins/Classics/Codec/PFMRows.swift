import CoderPluginKit
import ImageModel
import Light

/// The rows of a PFM file: `PF` for colors or `Pf` for gray, the sides, and a scale whose sign is the byte order.
///
/// - Source: pfm(5) of Netpbm. The samples are taken for linear light; the size of the scale has no agreed meaning.
struct PFMRows: StoredRows {
    let info: ImageInfo
    let isFromBottom = true
    let formats: [PixelFormat]
    private let isLittle: Bool
    private var samples: LightSamples
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
        formats = LightSamples.formats(kind == UInt8(ascii: "F") ? .rgb : .gray)
        samples = LightSamples(stops: session.options.real("pfm.exposure") ?? 0)
        let size = try PixelSize.checked(width, height, bits: 96, at: 3)
        isLittle = value < 0
        if abs(value) != 1 { session.host.debug("the scale \(scale) is not applied to the samples") }
        start = reader.offset
        input = RowInput(source: session.source, offset: start)
        info = ImageInfo(
            size: size, nativeFormat: formats[0], bitDepth: 32, color: ColorDescription(codePoints: .sRGB),
            decodesRows: true)
    }

    mutating func begin(atRow row: Int) -> Bool {
        input.offset = start + row * rowBytes
        return true
    }

    private var rowBytes: Int { info.size.width * formats[1].bytesPerPixel }

    mutating func choose(_ format: PixelFormat) { samples.isFloat = format.numeric == .float }

    var warning: String? { samples.warning }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let isLittle = self.isLittle
        var samples = self.samples
        try input.read(exactly: rowBytes) { bytes in
            for index in 0..<bytes.byteCount / 4 {
                let bits = LightRow.sample(bytes, index).bitPattern
                samples.put(Float(bitPattern: isLittle ? bits : bits.byteSwapped), index, into: &row)
            }
        }
        self.samples = samples
    }
}
