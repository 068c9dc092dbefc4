import CoderPluginKit
import ImageModel

/// The rows of a Sun raster file: 1, 8, 24 or 32 bits, plain or in runs.
///
/// - Source: rasterfile(5) of SunOS.
struct SunRows: StoredRows {
    let info: ImageInfo
    private let depth: Int
    private let isPacked: Bool
    private let isRedFirst: Bool
    /// Red, green and blue of each index.
    private let palette: [UInt8]
    private let rowBytes: Int
    private let start: Int
    private var input: RowInput
    private var stored: RunRow

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.consume([0x59, 0xa6, 0x6a, 0x95]) else { throw .notMine() }
        var fields: [Int] = []
        for _ in 0..<7 { fields.append(Int(try reader.u32BE())) }
        depth = fields[2]
        let type = fields[4]
        guard [1, 8, 24, 32].contains(depth) else {
            throw .corrupt("a raster cannot have \(depth) bits per pixel", at: 12)
        }
        guard type <= 3 else { throw .unsupported("the Sun raster type \(type)") }
        isPacked = type == 2
        isRedFirst = type == 3
        let size = try PixelSize.checked(fields[0], fields[1], bits: 64, at: 4)
        let (mapType, mapBytes) = (fields[5], fields[6])
        guard mapType <= 2, mapBytes <= 1 << 20 else { throw .corrupt("a palette of \(mapBytes) bytes", at: 24) }
        let map = try reader.bytes(mapBytes)
        if mapType == 1, depth <= 8, mapBytes >= 3 {
            let third = mapBytes / 3
            var colors: [UInt8] = []
            for index in 0..<min(1 << depth, third) {
                colors += [map[index], map[third + index], map[2 * third + index]]
            }
            palette = colors
        } else {
            palette = []
            if mapBytes > 0, depth <= 8 { session.host.warn("the palette has an unknown layout and is not used") }
        }
        rowBytes = (size.width * depth + 15) / 16 * 2
        start = reader.offset
        input = RowInput(source: session.source, offset: start)
        stored = RunRow(count: rowBytes)
        info = ImageInfo(
            size: size, nativeFormat: depth > 8 || !palette.isEmpty ? .rgb8 : .gray8, bitDepth: depth == 1 ? 1 : 8,
            decodesRows: true)
    }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 || !isPacked else { return false }
        input.offset = start + row * rowBytes
        stored.restart()
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        if isPacked {
            try stored.read(&input, runs: { Self.fill(&$0, from: $1, &$2) })
        } else {
            try stored.read(&input)
        }
        let bytes = stored.bytes
        for x in 0..<info.size.width { put(bytes, x, into: &row) }
    }

    /// Fills a row and returns the number of used bytes; nil if bytes are missing.
    ///
    /// 80, n, value repeats the value n + 1 times; 80, 0 is one byte 80.
    private static func fill(_ row: inout [UInt8], from bytes: RawSpan, _ run: inout (value: UInt8, left: Int)) -> Int?
    {
        var (at, place) = (0, 0)
        while place < row.count {
            if run.left == 0 {
                guard at < bytes.byteCount else { return nil }
                let byte = bytes.byte(at: at)
                var length = 1
                run = (byte, 1)
                if byte == 0x80 {
                    guard bytes.byteCount - at >= 2 else { return nil }
                    let count = Int(bytes.byte(at: at + 1))
                    length = 2
                    if count > 0 {
                        guard bytes.byteCount - at >= 3 else { return nil }
                        run = (bytes.byte(at: at + 2), count + 1)
                        length = 3
                    }
                }
                at += length
            }
            let count = min(run.left, row.count - place)
            for index in place..<place + count { row[index] = run.value }
            place += count
            run.left -= count
        }
        return at
    }

    private func put(_ stored: [UInt8], _ x: Int, into row: inout MutableRawSpan) {
        if depth > 8 {
            // 32 bits have an unused byte before the colors.
            let from = x * depth / 8 + (depth == 32 ? 1 : 0)
            for channel in 0..<3 {
                let value = stored[from + (isRedFirst ? channel : 2 - channel)]
                row.storeBytes(of: value, toByteOffset: 3 * x + channel, as: UInt8.self)
            }
            return
        }
        let index = depth == 8 ? Int(stored[x]) : Int(stored[x / 8] >> (7 - x % 8) & 1)
        guard !palette.isEmpty else {
            // Without a palette, a bit of 1 is black.
            row.storeBytes(of: depth == 8 ? UInt8(index) : index == 1 ? 0 : 255, toByteOffset: x, as: UInt8.self)
            return
        }
        for channel in 0..<3 {
            let value = 3 * index < palette.count ? palette[3 * index + channel] : 0
            row.storeBytes(of: value, toByteOffset: 3 * x + channel, as: UInt8.self)
        }
    }
}
