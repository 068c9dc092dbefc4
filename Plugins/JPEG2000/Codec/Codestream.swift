internal import CoderPluginKit
internal import ImageModel

/// The main header of a codestream.
///
/// - Source: ISO/IEC 15444-1 annex A; 15444-15 (`CAP`); 15444-2 (markers of extensions).
struct Codestream {
    /// One component of the image.
    struct Component: Equatable {
        let bits: Int
        let isSigned: Bool
        /// The distance of its samples on the reference grid.
        let dx: Int
        let dy: Int
    }

    /// How a component is coded.
    struct Coding {
        var levels = 0
        /// The binary logarithms of the sides of a code-block.
        var blockWidth = 6
        var blockHeight = 6
        /// The binary logarithms of the sides of the precincts, from the smallest level on; empty for the largest.
        var precincts: [(width: Int, height: Int)] = []
        var isReversible = false
        /// Whether the blocks have the coding of part 15.
        var isHighThroughput = false
    }

    /// The image and the first tile on the reference grid.
    private(set) var image = GridArea()
    private(set) var tile = GridArea()
    private(set) var components: [Component] = []
    private(set) var codings: [Coding] = []
    /// Whether the first three components are one color.
    private(set) var mixesColors = false
    /// The position of the first tile-part.
    private(set) var firstTilePart = 0

    private static let startOfTile = 0xFF90
    /// Markers of part 2 that change the samples and that OpenJPEG does not support.
    private static let extensions: [Int: String] = [
        0xFF72: "decomposition styles", 0xFF73: "decomposition styles", 0xFF79: "transform kernels",
        0xFF76: "nonlinear transforms", 0xFF70: "DC offsets", 0xFF71: "masking",
    ]

    /// Reads the main header.
    ///
    /// - Throws: `.needsInput`, `.truncated`, `.corrupt`, `.unsupportedFeature`.
    init(_ source: ByteSource, at start: Int) throws(CoderError) {
        var reader = ByteReader(source, at: start)
        guard try reader.u16BE() == 0xFF4F, try reader.u16BE() == 0xFF51 else {
            throw .corrupt("the codestream does not begin with its size", at: start)
        }
        try readSize(&reader)
        var hasCoding = false
        while true {
            let place = reader.offset
            let marker = Int(try reader.u16BE())
            if marker == Self.startOfTile {
                guard hasCoding else { throw .corrupt("the codestream does not state its coding", at: place) }
                firstTilePart = place
                return
            }
            guard marker >= 0xFF30 else { throw .corrupt("a marker is missing", at: place) }
            // Reserved markers without a length.
            if marker < 0xFF40 { continue }
            if let name = Self.extensions[marker] { throw .unsupported("JPEG 2000 with \(name) of part 2") }
            let length = Int(try reader.u16BE())
            guard length >= 2 else { throw .corrupt("a marker has an invalid length", at: place) }
            let end = reader.offset + length - 2
            try reader.require(length - 2)
            switch marker {
            case 0xFF52:
                try readCoding(&reader, until: end)
                hasCoding = true
            case 0xFF53 where hasCoding: try readComponentCoding(&reader, until: end)
            default: break
            }
            reader.offset = end
        }
    }

    private mutating func readSize(_ reader: inout ByteReader) throws(CoderError) {
        let place = reader.offset
        let length = Int(try reader.u16BE())
        try reader.require(length - 2)
        try reader.skip(2)
        var numbers: [Int] = []
        for _ in 0..<8 { numbers.append(Int(try reader.u32BE())) }
        let count = Int(try reader.u16BE())
        guard count > 0, count <= 16_384, length >= 38 + 3 * count else {
            throw .corrupt("the codestream has an invalid number of components", at: place)
        }
        image = GridArea(left: numbers[2], top: numbers[3], right: numbers[0], bottom: numbers[1])
        guard numbers[4] > 0, numbers[5] > 0, image.left < image.right, image.top < image.bottom else {
            throw .corrupt("the image or its tiles have no pixels", at: place)
        }
        tile = GridArea(
            left: numbers[6], top: numbers[7], right: numbers[6] + numbers[4], bottom: numbers[7] + numbers[5])
        guard tile.left <= image.left, tile.top <= image.top, tile.right > image.left, tile.bottom > image.top else {
            throw .corrupt("the first tile is outside the image", at: place)
        }
        for _ in 0..<count {
            let (depth, dx, dy) = (Int(try reader.u8()), Int(try reader.u8()), Int(try reader.u8()))
            guard dx > 0, dy > 0 else { throw .corrupt("a component has no samples", at: place) }
            components.append(Component(bits: depth & 0x7F + 1, isSigned: depth & 0x80 != 0, dx: dx, dy: dy))
        }
        reader.offset = place + length
        let (across, down) = tileCounts
        if across > 65_535 || down > 65_535 || across * down > 65_535 {
            throw .corrupt("the image has more than 65535 tiles", at: place)
        }
        if let deep = components.first(where: { $0.bits > 31 }) {
            throw deep.bits > 38
                ? .corrupt("a component has \(deep.bits) bits", at: place)
                : .unsupported("JPEG 2000 with samples of \(deep.bits) bits")
        }
    }

    /// The number of tiles across and down.
    var tileCounts: (across: Int, down: Int) {
        (
            (image.right - tile.left).dividedUp(by: tile.width), (image.bottom - tile.top).dividedUp(by: tile.height)
        )
    }

    /// How often the sides of all components can be halved.
    var levels: Int { codings.map(\.levels).min() ?? 0 }

    private mutating func readCoding(_ reader: inout ByteReader, until end: Int) throws(CoderError) {
        let style = try reader.u8()
        try reader.skip(3)
        mixesColors = try reader.u8() != 0
        let coding = try Self.coding(&reader, hasPrecincts: style & 1 != 0, until: end)
        codings = [Coding](repeating: coding, count: components.count)
    }

    private mutating func readComponentCoding(_ reader: inout ByteReader, until end: Int) throws(CoderError) {
        let index = components.count < 257 ? Int(try reader.u8()) : Int(try reader.u16BE())
        let style = try reader.u8()
        guard codings.indices.contains(index) else { return }
        codings[index] = try Self.coding(&reader, hasPrecincts: style & 1 != 0, until: end)
    }

    /// Reads levels, code-blocks, transform and precincts.
    private static func coding(
        _ reader: inout ByteReader, hasPrecincts: Bool, until end: Int
    ) throws(CoderError) -> Coding {
        var coding = Coding()
        let place = reader.offset
        coding.levels = Int(try reader.u8())
        coding.blockWidth = Int(try reader.u8() & 15) + 2
        coding.blockHeight = Int(try reader.u8() & 15) + 2
        coding.isHighThroughput = try reader.u8() & 0x40 != 0
        let transform = try reader.u8()
        guard coding.levels <= 32, coding.blockWidth <= 10, coding.blockHeight <= 10,
            coding.blockWidth + coding.blockHeight <= 12
        else { throw .corrupt("the coding has invalid parameters", at: place) }
        if transform > 1 { throw .unsupported("JPEG 2000 with a transform of part 2") }
        coding.isReversible = transform == 1
        if hasPrecincts {
            for _ in 0...coding.levels where reader.offset < end {
                let sides = Int(try reader.u8())
                coding.precincts.append((sides & 15, sides >> 4))
            }
        }
        return coding
    }
}
