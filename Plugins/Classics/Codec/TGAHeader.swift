import CoderPluginKit
import ImageModel

/// The header of a TGA file, checked strictly because older files have no signature.
///
/// - Source: Truevision TGA File Format Specification, version 2.0.
struct TGAHeader {
    enum Kind: UInt8 { case mapped = 1, color = 2, gray = 3 }

    static let byteCount = 18
    static let footer = Array("TRUEVISION-XFILE.".utf8)

    let kind: Kind
    let isPacked: Bool
    let size: PixelSize
    /// The number of bits of a stored pixel: 8, 15, 16, 24 or 32.
    let depth: Int
    /// The number of those bits that the header calls attributes.
    let attributeBits: Int
    let isFromTop: Bool
    let isFromRight: Bool
    /// The palette: the index of its first entry, the number of entries, and the bits of one.
    let map: (first: Int, count: Int, depth: Int)
    /// The position of the palette.
    let mapStart: Int

    /// The number of bytes of a stored pixel.
    var pixelBytes: Int { (depth + 7) / 8 }
    /// The position of the pixels.
    var pixelStart: Int { mapStart + map.count * ((map.depth + 7) / 8) }

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        let fields = try reader.bytes(Self.byteCount)
        func u16(_ at: Int) -> Int { Int(fields[at]) | Int(fields[at + 1]) << 8 }
        guard fields[1] <= 1 else { throw .notMine() }
        let type = fields[2]
        if type == 32 || type == 33 { throw .unsupported("TGA with Huffman codes") }
        guard let kind = Kind(rawValue: type & ~8), type & 0xf0 == 0 else { throw .notMine() }
        self.kind = kind
        isPacked = type & 8 != 0
        depth = Int(fields[16])
        let depths: [Int]
        switch kind {
        case .mapped: depths = [8, 16]
        case .color: depths = [15, 16, 24, 32]
        case .gray: depths = [8, 16]
        }
        guard depths.contains(depth), u16(12) > 0, u16(14) > 0 else { throw .notMine() }
        let hasMap = fields[1] == 1
        map = (u16(3), hasMap ? u16(5) : 0, Int(fields[7]))
        guard hasMap || kind != .mapped else { throw .notMine() }
        guard map.count == 0 || [15, 16, 24, 32].contains(map.depth), kind != .mapped || map.count > 0 else {
            throw .corrupt("the palette has \(map.count) colors of \(map.depth) bits", at: 5)
        }
        size = try PixelSize.checked(u16(12), u16(14), bits: 64, at: 12)
        attributeBits = Int(fields[17] & 15)
        isFromRight = fields[17] & 0x10 != 0
        isFromTop = fields[17] & 0x20 != 0
        if fields[17] & 0xc0 != 0 { throw .unsupported("TGA with interleaved rows") }
        mapStart = Self.byteCount + Int(fields[0])
    }

    /// What the extension area of a complete file states about the attribute bits; nil without an extension area.
    static func attributesType(_ source: ByteSource) -> Int? {
        let end = source.available
        guard end >= byteCount + 26, source.bytes(end - 18..<end - 1) == footer else { return nil }
        let start = (0..<4).reduce(0) { $0 | Int(source[end - 26 + $1]) << (8 * $1) }
        guard start >= byteCount, start <= end - 26 - 495 else { return nil }
        return Int(source[start + 494])
    }
}
