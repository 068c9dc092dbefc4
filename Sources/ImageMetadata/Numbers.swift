/// Formats numbers.
enum Numbers {
    /// Returns a number with at most ten significant digits.
    static func text(_ value: Double, digits: Int = 10) -> String {
        guard value.isFinite else { return value.isNaN ? "undef" : value < 0 ? "-inf" : "inf" }
        if value == 0 { return "0" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int(value)) }
        var scale = 1.0
        var size = abs(value)
        var steps = 0
        while size < 1, steps < 30 { (size, scale, steps) = (size * 10, scale * 10, steps + 1) }
        while size >= 10, steps < 330 { (size, scale, steps) = (size / 10, scale / 10, steps + 1) }
        for _ in 1..<digits { scale *= 10 }
        let rounded = (value * scale).rounded() / scale
        return rounded == rounded.rounded() && abs(rounded) < 1e15 ? String(Int(rounded)) : "\(rounded)"
    }

    /// Returns a number with a fixed count of decimals.
    static func fixed(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return text(value) }
        var scale = 1
        for _ in 0..<decimals { scale *= 10 }
        let whole = Int((abs(value) * Double(scale)).rounded(.toNearestOrEven))
        let sign = value < 0 && whole > 0 ? "-" : ""
        if decimals == 0 { return sign + String(whole) }
        let rest = String(whole % scale)
        return "\(sign)\(whole / scale)." + String(repeating: "0", count: decimals - rest.count) + rest
    }

    /// Returns 2 to the power of a number, by its binary digits.
    static func powerOfTwo(_ exponent: Double) -> Double {
        guard exponent.isFinite, abs(exponent) < 100 else { return 0 }
        var result = 1.0
        let whole = Int(exponent.rounded(.down))
        for _ in 0..<abs(whole) { result *= whole < 0 ? 0.5 : 2 }
        // The root of the root … of 2, for each binary digit of the fraction.
        var fraction = exponent - Double(whole)
        var root = 2.0
        for _ in 0..<52 {
            root = root.squareRoot()
            fraction *= 2
            if fraction >= 1 { (fraction, result) = (fraction - 1, result * root) }
        }
        return result
    }
}

/// Decodes texts.
enum Texts {
    /// The longest text of a tag in bytes.
    static let maxBytes = 64 << 10

    /// The warning about a text that is cut.
    static func omission(_ name: String) -> String { "\(name) is longer than \(maxBytes) bytes: the rest is left out" }

    /// Returns UTF-8 text up to the first NUL, without spaces at the end; bytes that are not UTF-8 are Latin-1.
    static func decoded(_ bytes: some Collection<UInt8>) -> String {
        var text = Array(bytes.prefix { $0 != 0 }.prefix(maxBytes))
        while let last = text.last, last == 0x20 || last == 0x0A || last == 0x0D { text.removeLast() }
        let decoded = String(decoding: text, as: UTF8.self)
        return decoded.unicodeScalars.contains("\u{FFFD}") ? latin(text) : decoded
    }

    /// Returns Latin-1 text.
    static func latin(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    /// Returns UTF-16 text up to the first NUL.
    static func utf16(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> String {
        var units: [UInt16] = []
        var place = bytes.startIndex
        while place + 1 < bytes.endIndex, units.count < maxBytes / 2 {
            let (a, b) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
            let unit = isBigEndian ? a << 8 | b : b << 8 | a
            if unit == 0 { break }
            units.append(unit)
            place += 2
        }
        return String(decoding: units, as: UTF16.self)
    }
}
