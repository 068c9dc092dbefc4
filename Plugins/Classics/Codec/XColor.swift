import CoderPluginKit
import ImageModel

/// A color of an X pixmap.
struct XColor {
    var red: UInt8 = 0
    var green: UInt8 = 0
    var blue: UInt8 = 0
    var alpha: UInt8 = 255

    /// The kinds of values, best first; `s` is a symbol and no color.
    private static let kinds = ["c", "g", "g4", "m"]

    /// Reads pairs of a kind and a value, such as `c #ff0000 m white`.
    ///
    /// - Throws: `.corrupt`, or `.unsupported` for an unknown name.
    init(_ line: some Collection<UInt8>) throws(CoderError) {
        let words = String(decoding: line, as: UTF8.self).split { $0 == " " || $0 == "\t" }
        var values: [String: String] = [:]
        var kind = ""
        for word in words {
            // A kind follows a value, so a color may be named "c".
            if Self.kinds.contains(String(word)) || word == "s", kind.isEmpty || values[kind] != nil {
                kind = String(word)
            } else {
                values[kind, default: ""] += word.lowercased()
            }
        }
        guard let value = Self.kinds.lazy.compactMap({ values[$0] }).first else {
            throw .corrupt("a color of the palette has no value")
        }
        if value == "none" || value == "transparent" {
            alpha = 0
        } else if value.hasPrefix("#") {
            try readDigits(value)
        } else if let found = XColorNames.color(value) {
            (red, green, blue) = found
        } else {
            throw .unsupported("the color name \"\(value)\"")
        }
    }

    private mutating func readDigits(_ value: String) throws(CoderError) {
        let digits = value.utf8.dropFirst().compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == value.utf8.count - 1, [3, 6, 9, 12].contains(digits.count) else {
            throw .corrupt("the color \"\(value)\" is invalid")
        }
        let count = digits.count / 3
        let most = 1 << (4 * count) - 1
        let samples = (0..<3).map { channel in
            let sample = digits[channel * count..<(channel + 1) * count].reduce(0) { $0 << 4 | $1 }
            return UInt8((sample * 510 + most) / (2 * most))
        }
        (red, green, blue) = (samples[0], samples[1], samples[2])
    }
}
