import ImageModel
import PluginRuntime

/// The header of a PBM, PGM, PPM or PAM image.
///
///     P5 \n # comment \n width height \n maxval \n samples
///     P7 \n WIDTH w \n HEIGHT h \n DEPTH d \n MAXVAL m \n TUPLTYPE t \n ENDHDR \n samples
///
/// - Source: Netpbm format specifications `pbm(5)`, `pgm(5)`, `ppm(5)`, `pam(5)`.
struct NetpbmHeader: Hashable {
    /// The digit after the P.
    var kind: Int
    var size: PixelSize
    var channels: Int
    var maxValue: Int
    var hasAlpha: Bool
    /// The offset of the samples.
    var dataOffset: Int

    var isPlain: Bool { kind <= 3 }
    var isBitmap: Bool { kind == 1 || kind == 4 }
    var bytesPerSample: Int { maxValue > 255 ? 2 : 1 }
    /// The bytes per pixel; not for bitmaps, whose pixels are bits.
    var bytesPerPixel: Int { channels * bytesPerSample }
    /// The bytes of a row of raw samples.
    var bytesPerRow: Int { isBitmap ? (size.width + 7) / 8 : size.width * bytesPerPixel }
    var isPAM: Bool { kind == 7 }

    /// A header is a few lines; longer text is not a header.
    private static let maxBytes = 64 << 10

    init(_ source: ImageSource) throws(CoderError) {
        var reader = TextReader(bytes: source.bytes(0..<Self.maxBytes), isComplete: source.isComplete)
        guard reader.bytes.count >= 2 else { throw source.isComplete ? .notMine() : .needsInput }
        guard reader.bytes[0] == UInt8(ascii: "P"), (0x31...0x37).contains(reader.bytes[1]) else { throw .notMine() }
        kind = Int(reader.bytes[1] - 0x30)
        reader.at = 2
        if kind == 7 {
            (size, channels, maxValue, hasAlpha) = try Self.readPAM(&reader)
        } else {
            let width = try reader.number()
            let height = try reader.number()
            maxValue = kind == 1 || kind == 4 ? 1 : try reader.number()
            size = PixelSize(width, height)
            channels = kind == 3 || kind == 6 ? 3 : 1
            hasAlpha = false
            if kind > 3 { try reader.skipOneSpace() }
        }
        dataOffset = reader.at
        guard !size.isEmpty else { throw .corrupt("the image has an invalid size of \(size) pixels") }
        guard (1...65_535).contains(maxValue) else { throw .corrupt("the largest sample value is \(maxValue)") }
    }

    private static let fieldNames: Set = ["WIDTH", "HEIGHT", "DEPTH", "MAXVAL"]
    /// Parsed numbers are capped here; the limits reject sides of this size anyway.
    fileprivate static let largestNumber = 1 << 40

    private static func readPAM(
        _ reader: inout TextReader
    ) throws(CoderError) -> (PixelSize, Int, Int, Bool) {
        var fields: [String: Int] = [:]
        var type = ""
        while true {
            let line = try reader.line()
            let words = line.split(separator: " ")
            guard let key = words.first, !key.hasPrefix("#") else { continue }
            if key == "ENDHDR" { break }
            if key == "TUPLTYPE" {
                type += (type.isEmpty ? "" : " ") + words.dropFirst().joined(separator: " ")
                continue
            }
            guard Self.fieldNames.contains(String(key)), words.count == 2, let value = Int(words[1]), value >= 0 else {
                throw .corrupt("the header line \"\(line.prefix(40))\" is invalid", at: reader.at)
            }
            fields[String(key)] = min(value, largestNumber)
        }
        guard let width = fields["WIDTH"], let height = fields["HEIGHT"], let depth = fields["DEPTH"],
            let maxValue = fields["MAXVAL"]
        else { throw .corrupt("the header lacks WIDTH, HEIGHT, DEPTH or MAXVAL") }
        guard depth > 0 else { throw .corrupt("the depth is 0 samples") }
        guard depth <= 4 else { throw .unsupported("a depth of \(depth) samples") }
        let hasAlpha = type.isEmpty ? depth == 2 || depth == 4 : type.hasSuffix("_ALPHA")
        guard hasAlpha == (depth == 2 || depth == 4) else {
            throw .corrupt("the tuple type \(type.prefix(40)) does not have \(depth) samples")
        }
        return (PixelSize(width, height), depth, maxValue, hasAlpha)
    }
}

/// A cursor over the header text.
private struct TextReader {
    let bytes: [UInt8]
    let isComplete: Bool
    var at = 0

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private func end() -> CoderError {
        isComplete ? .truncated("the header is truncated") : .needsInput
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Reads the next number, after white space and comments.
    mutating func number() throws(CoderError) -> Int {
        while let byte = next {
            if Self.isSpace(byte) {
                at += 1
            } else if byte == UInt8(ascii: "#") {
                while let comment = next, comment != 0x0A { at += 1 }
            } else {
                break
            }
        }
        var value = 0
        let start = at
        while let byte = next, (0x30...0x39).contains(byte) {
            value = min(value * 10 + Int(byte - 0x30), NetpbmHeader.largestNumber)
            at += 1
        }
        if next == nil && !(isComplete && at > start) { throw end() }
        if at == start { throw .corrupt("a number is missing in the header", at: start) }
        return value
    }

    mutating func skipOneSpace() throws(CoderError) {
        guard let byte = next else { throw end() }
        guard Self.isSpace(byte) else { throw .corrupt("the header does not end with white space", at: at) }
        at += 1
    }

    mutating func line() throws(CoderError) -> String {
        let start = at
        while let byte = next, byte != 0x0A { at += 1 }
        guard next != nil else { throw end() }
        defer { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }
}
