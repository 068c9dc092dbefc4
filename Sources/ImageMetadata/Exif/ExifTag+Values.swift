extension ExifTag {
    /// Returns the value without formatting; nil if it is empty.
    func value(_ data: ExifData) -> MetadataTag.Value? {
        switch kind {
        case .version: return .text(Texts.latin(data.bytes.prefix(8).prefix { $0 != 0 }))
        case .comment: return .text(Self.comment(data))
        case .wideText: return .text(Texts.utf16(data.bytes, isBigEndian: false))
        case .components: return joined(data.numbers)
        case .dotted: return .text(data.numbers.map { Numbers.text($0) }.joined(separator: "."))
        case .degrees:
            let parts = data.numbers.filter(\.isFinite)
            guard !parts.isEmpty, parts.count == data.numbers.count else { return nil }
            return .real(zip(parts, [1, 60, 3600]).reduce(0) { $0 + $1.0 / $1.1 })
        case .time: return .text(Self.time(data.numbers))
        case .apexTime: return data.numbers.first.map { .real(Numbers.powerOfTwo(-$0)) }
        case .apexAperture: return data.numbers.first.map { .real(Numbers.powerOfTwo($0 / 2)) }
        default: break
        }
        if data.type == 2 { return .text(Texts.decoded(data.bytes)) }
        if data.type == 7, data.count > 4 { return .text(Texts.decoded(data.bytes)) }
        return joined(data.numbers)
    }

    private func joined(_ numbers: [Double]) -> MetadataTag.Value? {
        guard let first = numbers.first else { return nil }
        if numbers.count > 1 { return .text(numbers.map { Numbers.text($0) }.joined(separator: " ")) }
        return first == first.rounded() && abs(first) < 1e15 ? .integer(Int(first)) : .real(first)
    }

    /// Returns the value as people read it.
    func text(_ value: MetadataTag.Value, _ data: ExifData) -> String {
        switch kind {
        case .words(let words):
            guard case .integer(let number) = value else { return value.plain }
            return words[number] ?? "Unknown (\(number))"
        case .coded(let words):
            return words[value.plain] ?? value.plain
        case .components:
            let names = ["-", "Y", "Cb", "Cr", "R", "G", "B"]
            return data.numbers.map { $0 >= 0 && $0 < 7 ? names[Int($0)] : "?" }.joined(separator: ", ")
        case .degrees: return value.number.map(Self.degrees) ?? value.plain
        case .exposureTime, .apexTime: return value.number.map(Self.exposure) ?? value.plain
        case .fNumber: return value.number.map { Numbers.fixed($0, $0 > 0 && $0 < 1 ? 2 : 1) } ?? value.plain
        case .apexAperture: return value.number.map { Numbers.fixed($0, 1) } ?? value.plain
        case .compensation: return value.number.map(Self.fraction) ?? value.plain
        case .unit(let unit, let decimals):
            guard let number = value.number else { return value.plain }
            if !number.isFinite { return Numbers.text(number) + (unit == "m" ? "" : " \(unit)") }
            return (decimals.map { Numbers.fixed(number, $0) } ?? Numbers.text(number)) + " \(unit)"
        case .lens: return Self.lens(data.numbers)
        case .plain, .version, .comment, .wideText, .time, .dotted: return value.plain
        }
    }

    /// Returns seconds as `1/125` or `2.5`.
    static func exposure(_ seconds: Double) -> String {
        if seconds > 0, seconds < 0.250_01 { return "1/\(Int(min(1e15, (1 / seconds).rounded())))" }
        let text = Numbers.fixed(seconds, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Returns an angle as `54 deg 59' 22.80"`.
    static func degrees(_ angle: Double) -> String {
        guard abs(angle) < 100_000 else { return Numbers.text(angle) }
        // Rounded first, so that no minute has 60 seconds.
        let hundredths = Int((abs(angle) * 360_000).rounded())
        let (seconds, rest) = (hundredths % 6000, hundredths / 6000)
        let whole = String(seconds % 100)
        return "\(angle < 0 ? "-" : "")\(rest / 60) deg \(rest % 60)' \(seconds / 100)."
            + (whole.count < 2 ? "0" : "") + whole + "\""
    }

    /// Returns an exposure compensation as `+1/3`.
    static func fraction(_ value: Double) -> String {
        guard abs(value) < 1e6 else { return Numbers.text(value) }
        let near = value * 1.000_01
        if near == 0 { return "0" }
        let sign = value > 0 ? "+" : ""
        for divisor in [1.0, 2, 3] where abs((near * divisor).rounded(.towardZero) / (near * divisor)) > 0.999 {
            let top = Int((near * divisor).rounded(.towardZero))
            return divisor == 1 ? "\(sign)\(top)" : "\(sign)\(top)/\(Int(divisor))"
        }
        return sign + Numbers.text(value, digits: 3)
    }

    /// Returns the focal lengths and apertures of a lens as `18-55mm f/3.5-5.6`.
    static func lens(_ values: [Double]) -> String {
        guard values.count == 4 else { return values.map { Numbers.text($0) }.joined(separator: " ") }
        func shown(_ value: Double) -> String { value.isFinite ? Numbers.text(value, digits: 4) : "?" }
        func range(_ low: Double, _ high: Double) -> String {
            let (a, b) = (shown(low), shown(high))
            return a == b || b == "?" ? a : "\(a)-\(b)"
        }
        return "\(range(values[0], values[1]))mm f/\(range(values[2], values[3]))"
    }

    private static func time(_ parts: [Double]) -> String {
        guard parts.count == 3, parts.allSatisfy({ $0.isFinite && $0 >= 0 && $0 < 1e6 }) else { return "" }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let total = parts[0] * 3600 + parts[1] * 60 + parts[2]
        let whole = Int(total)
        let rest = Numbers.text(total - Double(whole), digits: 6)
        let tail = rest.hasPrefix("0.") ? String(rest.dropFirst()) : ""
        return "\(two(whole / 3600)):\(two(whole / 60 % 60)):\(two(whole % 60))\(tail)"
    }

    /// Returns a text behind its eight bytes of encoding.
    private static func comment(_ data: ExifData) -> String {
        let code = Texts.decoded(data.bytes.prefix(8))
        let rest = data.bytes.dropFirst(8)
        switch code.uppercased() {
        case "UNICODE":
            if rest.starts(with: [0xFE, 0xFF]) { return Texts.utf16(rest.dropFirst(2), isBigEndian: true) }
            if rest.starts(with: [0xFF, 0xFE]) { return Texts.utf16(rest.dropFirst(2), isBigEndian: false) }
            // Text of ASCII letters tells the byte order; writers do not follow the order of the structure.
            let zeros = rest.enumerated().prefix(64).filter { $1 == 0 }.map { $0.offset % 2 }
            let isBig = zeros.isEmpty ? data.isBigEndian : zeros.count { $0 == 0 } * 2 > zeros.count
            return Texts.utf16(rest, isBigEndian: isBig)
        case "ASCII", "", "JIS": return Texts.decoded(rest)
        default: return Texts.decoded(data.bytes)
        }
    }
}
