import CoderPluginKit
import ImageModel

/// The rows of a PCX file: planes of 1, 2, 4 or 8 bits, in runs.
///
/// - Source: ZSoft PCX File Format Technical Reference Manual, 1991.
struct PCXRows: StoredRows {
    let info: ImageInfo
    private let colors: PCXColors
    private let isPacked: Bool
    private let planeBytes: Int
    private var input: RowInput
    private var stored: RunRow

    private static let headerBytes = 128

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.u8() == 0x0a else { throw .notMine() }
        let header = try reader.bytes(Self.headerBytes - 1)
        func u8(_ at: Int) -> Int { Int(header[at - 1]) }
        func u16(_ at: Int) -> Int { u8(at) | u8(at + 1) << 8 }
        guard [0, 2, 3, 4, 5].contains(u8(1)), u8(2) <= 1 else { throw .notMine() }
        isPacked = u8(2) == 1
        let size = try PixelSize.checked(u16(8) - u16(4) + 1, u16(10) - u16(6) + 1, bits: 64, at: 4)
        colors = try PCXColors(
            bits: u8(3), planes: u8(65), version: u8(1), paletteKind: u16(68), header: Array(header[15..<63]), session)
        planeBytes = u16(66)
        guard planeBytes > 0 else { throw .corrupt("the rows have no bytes", at: 66) }
        if planeBytes < (size.width * colors.bits + 7) / 8 {
            session.host.warn("rows of \(planeBytes) bytes are too short: their last pixels are black")
        }
        input = RowInput(source: session.source, offset: Self.headerBytes)
        stored = RunRow(count: planeBytes * colors.planes)
        if let start = colors.paletteStart {
            // Pixels of a file that is cut may look like a palette.
            let count = planeBytes * colors.planes * size.height
            let end = try PCXRuns.end(of: count, from: Self.headerBytes, to: start, isPacked: isPacked, session)
            guard end != nil else { throw .truncated("the palette behind the pixels is missing") }
        }
        info = ImageInfo(size: size, nativeFormat: colors.format, bitDepth: colors.bitDepth, decodesRows: true)
    }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 || !isPacked else { return false }
        input.offset = Self.headerBytes + row * planeBytes * colors.planes
        stored.restart()
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        if isPacked {
            try stored.read(&input, runs: { PCXRuns.fill(&$0, from: $1, &$2) })
        } else {
            try stored.read(&input)
        }
        colors.put(stored.bytes, planeBytes: planeBytes, width: info.size.width, into: &row)
    }
}
