import CoderPluginKit
import ImageModel

/// The rows of an SGI image: planes of 8 or 16 bits from the bottom row up, plain or in runs.
///
/// - Source: Paul Haeberli, The SGI Image File Format, version 1.00.
struct SGIRows: StoredRows {
    let info: ImageInfo
    let isFromBottom = true
    private let source: ByteSource
    private let isPacked: Bool
    private let sampleBytes: Int
    /// The number of planes that are decoded.
    private let channels: Int
    /// The number of stored planes.
    private let planes: Int
    private var row = 0

    private static let headerBytes = 512

    init(_ session: DecoderSession) throws(CoderError) {
        source = session.source
        var reader = ByteReader(source)
        guard try reader.u16BE() == 0x01da else { throw .notMine() }
        let storage = try reader.u8()
        sampleBytes = Int(try reader.u8())
        let dimension = Int(try reader.u16BE())
        guard storage <= 1, sampleBytes == 1 || sampleBytes == 2, (1...3).contains(dimension) else { throw .notMine() }
        isPacked = storage == 1
        let (width, height, depth) = (Int(try reader.u16BE()), Int(try reader.u16BE()), Int(try reader.u16BE()))
        let size = try PixelSize.checked(width, dimension == 1 ? 1 : height, bits: 64 * 0x1_0000, at: 6)
        reader.offset = 104
        let map = try reader.u32BE()
        guard map == 0 else { throw .unsupported("the SGI color map mode \(map)") }
        planes = dimension < 3 ? 1 : depth
        guard planes > 0 else { throw .corrupt("the image has no planes", at: 10) }
        channels = min(4, planes)
        if planes > channels { session.host.warn("only 4 of \(planes) planes are decoded") }
        try reader.require(Self.headerBytes - reader.offset)
        let kinds: [PixelFormat.Channels] = [.gray, .grayAlpha, .rgb, .rgba]
        info = ImageInfo(
            size: size, nativeFormat: PixelFormat(kinds[channels - 1], bits: 8 * sampleBytes),
            bitDepth: 8 * sampleBytes, decodesRows: true)
    }

    mutating func begin(atRow row: Int) -> Bool {
        self.row = row
        return true
    }

    mutating func next(_ target: inout MutableRawSpan) throws(CoderError) {
        for channel in 0..<channels { try decode(channel, into: &target) }
        row += 1
    }

    private func decode(_ channel: Int, into target: inout MutableRawSpan) throws(CoderError) {
        let line = channel * info.size.height + row
        let count = info.size.width * sampleBytes
        if isPacked {
            let table = info.size.height * planes * 4
            var reader = ByteReader(source, at: Self.headerBytes + 4 * line)
            let start = Int(try reader.u32BE())
            reader.offset = Self.headerBytes + table + 4 * line
            let length = Int(try reader.u32BE())
            guard start >= Self.headerBytes + 2 * table else {
                throw .corrupt("a row begins within the header", at: Self.headerBytes + 4 * line)
            }
            // A row in runs is at most twice as long, and ends with a run of no samples.
            guard length <= 2 * count + 16 else { throw .corrupt("a row has more data than pixels", at: start) }
            try ByteReader(source, at: start).require(length)
            let isFull = source.withBytes(start..<start + length) { unpack($0, channel, into: &target) }
            guard isFull else { throw .corrupt("the runs of a row end before the row", at: start) }
        } else {
            let start = Self.headerBytes + line * count
            try ByteReader(source, at: start).require(count)
            source.withBytes(start..<start + count) { bytes in
                put(bytes, 0, info.size.width, isRun: false, 0, channel, into: &target)
            }
        }
    }

    /// Stores `count` samples from `at` on, or the one there as often, from column `x` on.
    private func put(
        _ bytes: RawSpan, _ at: Int, _ count: Int, isRun: Bool, _ x: Int, _ channel: Int,
        into target: inout MutableRawSpan
    ) {
        var place = (x * channels + channel) * sampleBytes
        let (from, to) = (isRun ? 0 : sampleBytes, channels * sampleBytes)
        var at = at
        if sampleBytes == 1 {
            for _ in 0..<count {
                target.storeBytes(of: bytes.byte(at: at), toByteOffset: place, as: UInt8.self)
                (at, place) = (at &+ from, place &+ to)
            }
            return
        }
        for _ in 0..<count {
            let sample = UInt16(bytes.byte(at: at)) << 8 | UInt16(bytes.byte(at: at + 1))
            target.storeBytes(of: sample, toByteOffset: place, as: UInt16.self)
            (at, place) = (at &+ from, place &+ to)
        }
    }

    /// Decodes runs; returns whether they fill the row.
    private func unpack(_ bytes: RawSpan, _ channel: Int, into target: inout MutableRawSpan) -> Bool {
        var (at, x) = (0, 0)
        let width = info.size.width
        while x < width {
            guard bytes.byteCount - at >= sampleBytes else { return false }
            // The count is in the low byte of a sample.
            let code = bytes.byte(at: at + sampleBytes - 1)
            at += sampleBytes
            let count = min(Int(code & 127), width - x)
            if count == 0 { return false }
            let isCopy = code & 128 != 0
            guard bytes.byteCount - at >= sampleBytes * (isCopy ? count : 1) else { return false }
            put(bytes, at, count, isRun: !isCopy, x, channel, into: &target)
            at += sampleBytes * (isCopy ? count : 1)
            x += count
        }
        return true
    }
}
