import CoderPluginKit
import ImageModel

/// The places of the image resources that the decoder uses.
struct PSDResources {
    /// The number of a resource.
    enum Kind: Int {
        case density = 1005
        case iptc = 1028
        case thumbnail = 1036
        case icc = 1039
        case transparentIndex = 1047
        case version = 1057
        case exif = 1058
        case xmp = 1060
    }

    /// Signatures of Photoshop and of older programs of Adobe.
    private static let signatures: Set<UInt32> = [
        0x3842_494d, 0x4d65_5361, 0x5048_5554, 0x4167_4867, 0x4443_5352,
    ]

    private let source: ByteSource
    private var places: [Int: Range<Int>] = [:]
    /// The position from which resources cannot be read.
    private(set) var damage: Int?

    /// Reads the section at the position of `reader`, which must have arrived.
    init(_ reader: inout ByteReader, _ host: HostServices) throws(CoderError) {
        source = reader.source
        let count = Int(try reader.u32BE())
        try reader.require(count)
        let end = reader.offset + count
        var blocks = 0
        while end - reader.offset >= 12 {
            blocks += 1
            if blocks % 4096 == 0 { try host.checkCancellation() }
            let start = reader.offset
            guard Self.signatures.contains(try reader.u32BE()) else {
                damage = start
                break
            }
            let kind = Int(try reader.u16BE())
            // The name begins with its length, and has an even number of bytes.
            let name = Int(try reader.u8()) | 1
            guard end - reader.offset >= name + 4 else {
                damage = start
                break
            }
            reader.offset += name
            let bytes = Int(try reader.u32BE())
            guard end - reader.offset >= bytes else {
                damage = start
                break
            }
            if Kind(rawValue: kind) != nil, places[kind] == nil { places[kind] = reader.offset..<reader.offset + bytes }
            reader.offset += bytes + bytes % 2
        }
        reader.offset = end
    }

    /// Returns the place of a resource; nil if it is missing or empty.
    subscript(_ kind: Kind) -> Range<Int>? {
        guard let place = places[kind.rawValue], !place.isEmpty else { return nil }
        return place
    }

    /// Whether the program that saved layers left out the composite, and stored a white image or a notice for it.
    var lacksComposite: Bool {
        guard let place = self[.version], place.count >= 5 else { return false }
        return source[place.lowerBound + 4] == 0
    }

    /// The index of the transparent color of a palette.
    var transparentIndex: Int? {
        guard let place = self[.transparentIndex], place.count >= 2 else { return nil }
        let index = Int(source[place.lowerBound]) << 8 | Int(source[place.lowerBound + 1])
        return index < 256 ? index : nil
    }

    /// The density: pixels per inch with 16 bits after the point, in both directions.
    var density: PixelDensity? {
        guard let place = self[.density], place.count >= 12 else { return nil }
        func perMeter(_ offset: Int) -> UInt32? {
            let stored = (0..<4).reduce(0) { $0 << 8 | Int(source[place.lowerBound + offset + $1]) }
            // 65,536 units per pixel, and 0.0254 meters per inch.
            let value = (stored * 10_000 + 8_323_072) / 16_646_144
            return value > 0 ? UInt32(clamping: value) : nil
        }
        guard let x = perMeter(0), let y = perMeter(8) else { return nil }
        return .perMeter(x: x, y: y)
    }
}
