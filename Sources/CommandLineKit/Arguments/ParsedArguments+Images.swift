import CoderHost
package import ImageModel
package import ImageProcessing

extension ParsedArguments {
    /// Returns the enumeration case that the value of an option names.
    package func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, _: Choice.Type
    ) throws(UsageError) -> Choice? where Choice.RawValue == String {
        guard let text = value(key) else { return nil }
        if let choice = Choice(rawValue: text.lowercased()) { return choice }
        let words = Choice.allCases.map(\.rawValue)
        throw UsageError(
            "invalid \(key) value \"\(text)\"",
            hint: OptionCheck.nearest(text.lowercased(), words).map { "did you mean \($0)?" }
                ?? "values: \(words.joined(separator: ", "))")
    }

    /// Returns the value of `--gravity` or a similar option; `top-left` and the like mean the same as `northwest`.
    package func gravity(_ key: String = "--gravity") throws(UsageError) -> Gravity? {
        let points = ["top": "north", "bottom": "south", "left": "west", "right": "east"]
        let sides = (value(key) ?? "").lowercased().split(separator: "-").map(String.init)
        let named = Gravity(rawValue: sides.map { points[$0] ?? $0 }.joined())
        return if let named { named } else { try choice(key, Gravity.self) }
    }

    /// Returns the elements that all values of a comma-separated option name; nil without the option.
    ///
    /// - Parameters:
    ///   - known: all elements with their words.
    ///   - aliases: further words, which messages do not list.
    ///   - noun: the name of an element in messages.
    ///   - all: the meaning of `all`; nil for all elements.
    package func set<Element: Hashable>(
        _ key: String, of known: [(word: String, element: Element)],
        aliases: [(word: String, element: Element)] = [], noun: String, all: Set<Element>? = nil
    ) throws(UsageError) -> Set<Element>? {
        guard has(key) else { return nil }
        var result: Set<Element> = []
        for word in self.all(key).flatMap({ $0.split(separator: ",") }).map(String.init) {
            if word == "all" {
                result.formUnion(all ?? Set(known.map(\.element)))
                continue
            }
            guard let match = (known + aliases).first(where: { $0.word == word.lowercased() }) else {
                let words = known.map(\.word)
                let plural = noun.split(separator: " ").last.map { "\($0)s" } ?? noun
                throw UsageError(
                    "unknown \(noun) \(word)",
                    hint: OptionCheck.nearest(word.lowercased(), words).map { "did you mean \($0)?" }
                        ?? "\(plural): \(words.joined(separator: ", ")), all")
            }
            result.insert(match.element)
        }
        return result
    }

    /// Refuses `--keep` and `--strip` that name the same metadata.
    ///
    /// - Parameter all: the words that `--strip all` stands for.
    package func refuseKeepingStripped(all: [String]) throws(UsageError) {
        func words(_ key: String) -> [String] {
            self.all(key).flatMap { $0.lowercased().split(separator: ",") }.map(String.init)
        }
        let stripped = words("--strip")
        for word in words("--keep") {
            if stripped.contains(word) {
                throw UsageError("--keep \(word) and --strip \(word) contradict each other", hint: "remove one of them")
            }
            if stripped.contains("all"), all.contains(word) {
                throw UsageError(
                    "--keep \(word) and --strip all contradict each other",
                    hint: "--keep \(word) alone removes all other metadata")
            }
        }
    }

    /// Returns the byte count of an option: at least 1, or at least 0 with `allowsZero`.
    package func byteCount(_ key: String, allowsZero: Bool = false) throws(UsageError) -> Int? {
        guard let text = value(key) else { return nil }
        guard let count = Self.quantity(text), count > 0 || allowsZero else {
            throw UsageError(
                "invalid \(key) value \"\(text)\": expected a number of bytes, optionally with k, M, G or T",
                hint: "200k is 204800 bytes, 200kB is 200000")
        }
        return count
    }

    /// Returns the box of an option: `256`, `800x600`, `800x` or `x600`; an omitted side is 0.
    package func box(_ key: String) throws(UsageError) -> PixelSize? {
        guard let text = value(key) else { return nil }
        if let box = PixelSize(box: text) { return box }
        throw UsageError(
            "invalid \(key) value \"\(text)\": expected WxH, Wx, xH, or one number for a square box",
            hint: "for example \(key) 800x600")
    }

    /// Returns the color of an option: a name, `#rgb`, `#rgba`, `#rrggbb` or `#rrggbbaa`.
    package func color(_ key: String) throws(UsageError) -> RGBAColor? {
        guard let text = value(key) else { return nil }
        if let color = RGBAColor(text: text) { return color }
        throw UsageError(
            "invalid \(key) value \"\(text)\": not a color",
            hint: OptionCheck.nearest(text.lowercased(), RGBAColor.names.map(\.name)).map { "did you mean \($0)?" }
                ?? "use #rgb, #rrggbb, #rrggbbaa or one of \(RGBAColor.names.map(\.name).joined(separator: ", "))")
    }
}

extension RGBAColor {
    /// The color on white, for formats without alpha.
    var overWhite: RGBAColor {
        let (part, rest) = (Int(alpha), 255 - Int(alpha))
        func mixed(_ value: UInt8) -> UInt8 {
            let sum: Int = Int(value) * part + 255 * rest + 127
            return UInt8(sum / 255)
        }
        return RGBAColor(red: mixed(red), green: mixed(green), blue: mixed(blue))
    }

    /// The color names that options accept.
    package static let names: [(name: String, color: RGBAColor)] = [
        ("white", .white), ("black", .black), ("gray", RGBAColor(red: 128, green: 128, blue: 128)),
        ("red", RGBAColor(red: 255, green: 0, blue: 0)), ("green", RGBAColor(red: 0, green: 128, blue: 0)),
        ("blue", RGBAColor(red: 0, green: 0, blue: 255)), ("yellow", RGBAColor(red: 255, green: 255, blue: 0)),
        ("transparent", .clear),
    ]

    /// Parses a color name or a hexadecimal color; nil for other texts.
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

extension PixelSize {
    /// Parses a box: `256`, `800x600`, `800x` or `x600`; an omitted side is 0. Nil for other texts.
    init?(box text: String) {
        let sides = text.lowercased().split(separator: "x", omittingEmptySubsequences: false)
        guard (1...2).contains(sides.count), sides.count == 1 || !sides.contains("0") else { return nil }
        var numbers: [Int] = []
        for side in sides {
            guard let number = side.isEmpty ? 0 : Int(side), (0...(1 << 24)).contains(number) else { return nil }
            numbers.append(number)
        }
        if numbers.allSatisfy({ $0 == 0 }) { return nil }
        self.init(numbers[0], numbers[numbers.count - 1])
    }
}
