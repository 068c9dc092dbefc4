import CoderHost
package import ImageModel

extension ParsedArguments {
    /// One of the words of an enumeration.
    package func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, _: Choice.Type
    ) throws(UsageError) -> Choice? where Choice.RawValue == String {
        guard let text = value(key) else { return nil }
        if let choice = Choice(rawValue: text.lowercased()) { return choice }
        let words = Choice.allCases.map(\.rawValue)
        throw UsageError(
            "\(key) has no value \(text)",
            hint: OptionCheck.nearest(text.lowercased(), words).map { "did you mean \($0)?" }
                ?? "there are \(words.joined(separator: ", "))")
    }

    /// A number of bytes, at least one.
    package func byteCount(_ key: String, allowsZero: Bool = false) throws(UsageError) -> Int? {
        guard let text = value(key) else { return nil }
        guard let count = Self.quantity(text), count > 0 || allowsZero else {
            throw UsageError("\(key) takes a number of bytes (k, M, G and T are understood), not \"\(text)\"")
        }
        return count
    }

    /// `256`, `800x600`, `800x` or `x600`; a side that is left out is 0.
    package func box(_ key: String) throws(UsageError) -> PixelSize? {
        guard let text = value(key) else { return nil }
        let sides = text.lowercased().split(separator: "x", omittingEmptySubsequences: false)
        let numbers = sides.map { $0.isEmpty ? 0 : Int($0) ?? -1 }
        let isValid =
            (1...2).contains(numbers.count) && numbers.allSatisfy { (0...(1 << 24)).contains($0) }
            && numbers.contains { $0 > 0 } && !(numbers.count == 2 && sides.contains("0"))
        guard isValid else {
            throw UsageError(
                "\(key) \(text) is no size", hint: "write 256 for a box of 256x256, or WxH, or Wx, or xH")
        }
        return numbers.count == 1 ? PixelSize(numbers[0], numbers[0]) : PixelSize(numbers[0], numbers[1])
    }

    /// A colour: a name, `#rgb`, `#rgba`, `#rrggbb` or `#rrggbbaa`.
    package func color(_ key: String) throws(UsageError) -> RGBAColor? {
        guard let text = value(key) else { return nil }
        if let color = RGBAColor(text: text) { return color }
        throw UsageError(
            "\(key) \(text) is no colour",
            hint: OptionCheck.nearest(text.lowercased(), RGBAColor.names.map(\.name)).map { "did you mean \($0)?" }
                ?? "write #rgb, #rrggbb, #rrggbbaa or one of \(RGBAColor.names.map(\.name).joined(separator: ", "))")
    }
}

extension RGBAColor {
    package static let names: [(name: String, color: RGBAColor)] = [
        ("white", .white), ("black", .black), ("gray", RGBAColor(red: 128, green: 128, blue: 128)),
        ("red", RGBAColor(red: 255, green: 0, blue: 0)), ("green", RGBAColor(red: 0, green: 128, blue: 0)),
        ("blue", RGBAColor(red: 0, green: 0, blue: 255)), ("yellow", RGBAColor(red: 255, green: 255, blue: 0)),
        ("transparent", .clear),
    ]

    /// A colour as people write it; nil for anything else.
    package init?(text: String) {
        if let known = Self.names.first(where: { $0.name == text.lowercased() }) {
            self = known.color
            return
        }
        let digits = text.drop { $0 == "#" }.map { $0.isASCII ? $0.hexDigitValue : nil }
        let values = digits.compactMap { $0 }
        guard text.hasPrefix("#") || values.count == 6, values.count == digits.count else { return nil }
        let bytes: [Int]
        switch values.count {
        case 3, 4: bytes = values.map { $0 * 17 }
        case 6, 8: bytes = stride(from: 0, to: values.count, by: 2).map { values[$0] * 16 + values[$0 + 1] }
        default: return nil
        }
        self.init(
            red: UInt8(bytes[0]), green: UInt8(bytes[1]), blue: UInt8(bytes[2]),
            alpha: bytes.count > 3 ? UInt8(bytes[3]) : 255)
    }
}
