import CoderPluginKit
import ImageModel

/// The rows of a wireless bitmap of type 0: black and white, not packed.
///
/// - Source: WAP-237-WAEMT, Wireless Application Environment: appendix A.
struct WBMPRows: StoredRows {
    let info: ImageInfo
    private let start: Int
    private var input: RowInput

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        // No signature: each field must make sense.
        guard try Self.number(&reader) == 0 else { throw .notMine() }
        let header = try reader.u8()
        guard header & 0x1f == 0 else { throw .notMine() }
        if header & 0x80 != 0 {
            guard header & 0x60 == 0 else { throw .unsupported("a WBMP with parameters in its header") }
            while try reader.u8() & 0x80 != 0 {}
        }
        let (width, height) = (try Self.number(&reader), try Self.number(&reader))
        guard width > 0, height > 0 else { throw .notMine() }
        let size = try PixelSize.checked(width, height, bits: 8, at: 2)
        start = reader.offset
        input = RowInput(source: session.source, offset: start)
        info = ImageInfo(size: size, nativeFormat: .gray8, bitDepth: 1, decodesRows: true)
    }

    /// Reads a number in groups of seven bits, the highest first.
    private static func number(_ reader: inout ByteReader) throws(CoderError) -> Int {
        var value = 0
        for _ in 0..<5 {
            let byte = try reader.u8()
            value = value << 7 | Int(byte & 127)
            if byte & 128 == 0 { return value }
        }
        throw .notMine()
    }

    private var rowBytes: Int { (info.size.width + 7) / 8 }

    mutating func begin(atRow row: Int) -> Bool {
        input.offset = start + row * rowBytes
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let width = info.size.width
        try input.read(exactly: rowBytes) { bytes in
            for x in 0..<width {
                let bit = bytes.byte(at: x / 8) >> (7 - UInt8(x % 8)) & 1
                row.storeBytes(of: bit * 255, toByteOffset: x, as: UInt8.self)
            }
        }
    }
}
