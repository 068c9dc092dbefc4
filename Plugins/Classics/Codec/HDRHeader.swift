import CoderPluginKit
import ImageModel

/// The header of a Radiance file: lines of text, an empty line, and the line of the sides.
///
/// - Source: Greg Ward, Radiance file formats; `ray/src/common/color.c` documents the variables.
struct HDRHeader {
    /// The number of rows in the file, and of pixels in each.
    let size: PixelSize
    let orientation: Orientation
    let isXYZ: Bool
    /// The primaries, if the header states other ones than the usual.
    private(set) var primaries: PrimaryPoints?
    /// The position of the first row.
    let end: Int

    private static let mostBytes = 1 << 20

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.consume(Array("#?".utf8)) else { throw .notMine() }
        let program = try HeaderText.line(&reader, most: 4096)
        guard program.hasPrefix("RADIANCE") || program.hasPrefix("RGBE") else { throw .notMine() }
        var isXYZ = false
        var isColored = false
        while true {
            let line = try HeaderText.line(&reader, most: Self.mostBytes)
            guard reader.offset <= Self.mostBytes else { throw .corrupt("the header is too long", at: reader.offset) }
            if line.isEmpty { break }
            let parts = line.split(separator: "=", maxSplits: 1).map { Self.trimmed($0) }
            guard parts.count == 2, !line.hasPrefix("#") else { continue }
            switch parts[0] {
            case "FORMAT":
                guard parts[1] == "32-bit_rle_rgbe" || parts[1] == "32-bit_rle_xyze" else {
                    throw .unsupported("the Radiance format \"\(parts[1])\"")
                }
                isXYZ = parts[1] == "32-bit_rle_xyze"
            case "PRIMARIES": primaries = Self.primaries(parts[1])
            case "COLORCORR": isColored = true
            default: break
            }
        }
        if isColored { session.host.warn("the header states a color correction, which is not undone") }
        self.isXYZ = isXYZ
        if isXYZ { primaries = nil }
        let start = reader.offset
        let words = try HeaderText.line(&reader, most: 128).split(separator: " ")
        guard words.count == 4, let first = Int(words[1]), let second = Int(words[3]),
            let orientation = Self.orientations["\(words[0]) \(words[2])"]
        else { throw .corrupt("the sides of the image are missing", at: start) }
        self.orientation = orientation
        size = try PixelSize.checked(second, first, bits: 96, at: start)
        end = reader.offset
    }

    /// The direction from row to row, then within a row; Y points up.
    private static let orientations: [String: Orientation] = [
        "-Y +X": .up, "-Y -X": .upMirrored, "+Y -X": .down, "+Y +X": .downMirrored,
        "+X -Y": .leftMirrored, "-X -Y": .right, "-X +Y": .rightMirrored, "+X +Y": .left,
    ]

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }

    /// Returns the primaries of a header; nil for the usual ones, those of BT.709.
    private static func primaries(_ text: String) -> PrimaryPoints? {
        let values = text.split { $0 == " " || $0 == "\t" }.compactMap { Double($0) }
        guard values.count == 8, values.allSatisfy({ $0 >= 0 && $0 <= 1 }) else { return nil }
        let usual = [0.64, 0.33, 0.3, 0.6, 0.15, 0.06, 0.3127, 0.329]
        if zip(values, usual).allSatisfy({ abs($0 - $1) < 0.002 }) { return nil }
        let points = values.map { Int32(($0 * 100_000).rounded()) }
        return PrimaryPoints(
            redX: points[0], redY: points[1], greenX: points[2], greenY: points[3], blueX: points[4],
            blueY: points[5], whiteX: points[6], whiteY: points[7])
    }
}
