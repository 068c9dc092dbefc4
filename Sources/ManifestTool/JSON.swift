/// A JSON value with its position in the text.
struct JSON {
    enum Content {
        case null
        case bool(Bool)
        case number(String)
        case string(String)
        case array([JSON])
        case object([(key: String, value: JSON)])
    }

    var content: Content
    /// The offset from the start of the text in bytes.
    var offset: Int
}

/// An error in a manifest, with its position.
struct ManifestError: Error {
    var message: String
    var offset: Int

    /// Returns line and column, both from 1; columns count bytes.
    func place(in text: [UInt8]) -> (line: Int, column: Int) {
        let before = text.prefix(offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return (before.count { $0 == UInt8(ascii: "\n") } + 1, offset - lineStart + 1)
    }
}

/// Parses JSON strictly: no comments, trailing commas, duplicate keys or text after the value.
///
/// - Source: RFC 8259.
struct JSONParser {
    private let text: [UInt8]
    private var at = 0
    private var depth = 0
    /// The text without white space between tokens.
    private(set) var compact: [UInt8] = []

    /// Manifests have five levels; the limit prevents that a hostile file exhausts the stack.
    private static let maxDepth = 32

    init(_ text: [UInt8]) { self.text = text }

    mutating func parse() throws(ManifestError) -> JSON {
        skipSpace()
        let value = try value()
        skipSpace()
        if at < text.count { throw error("unexpected text after the JSON value") }
        return value
    }

    private func error(_ message: String) -> ManifestError { ManifestError(message: message, offset: at) }

    private var next: UInt8? { at < text.count ? text[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
    }

    /// Copies one byte to the compact text.
    private mutating func take() {
        compact.append(text[at])
        at += 1
    }

    private mutating func expect(_ character: Character) throws(ManifestError) {
        guard let next, next == character.asciiValue else { throw error("expected '\(character)'") }
        take()
    }

    private mutating func value() throws(ManifestError) -> JSON {
        let start = at
        guard let next else { throw error("expected a value, found the end of the text") }
        let content: JSON.Content
        switch next {
        case UInt8(ascii: "{"): content = .object(try object())
        case UInt8(ascii: "["): content = .array(try array())
        case UInt8(ascii: "\""): content = .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): content = .number(try number())
        case UInt8(ascii: "t"): content = try word("true", .bool(true))
        case UInt8(ascii: "f"): content = try word("false", .bool(false))
        case UInt8(ascii: "n"): content = try word("null", .null)
        default: throw error("expected a JSON value")
        }
        return JSON(content: content, offset: start)
    }

    private mutating func word(_ word: String, _ content: JSON.Content) throws(ManifestError) -> JSON.Content {
        guard text[at...].starts(with: word.utf8) else { throw error("expected a JSON value") }
        for _ in word.utf8 { take() }
        return content
    }

    private mutating func enter() throws(ManifestError) {
        depth += 1
        if depth > Self.maxDepth { throw error("more than \(Self.maxDepth) levels of nesting") }
    }

    private mutating func object() throws(ManifestError) -> [(key: String, value: JSON)] {
        try enter()
        try expect("{")
        var members: [(key: String, value: JSON)] = []
        skipSpace()
        while next != UInt8(ascii: "}") {
            if !members.isEmpty {
                try expect(",")
                skipSpace()
            }
            guard next == UInt8(ascii: "\"") else { throw error("expected a key in quotation marks") }
            let place = at
            let key = try string()
            if members.contains(where: { $0.key == key }) {
                throw ManifestError(message: "duplicate key \"\(key)\"", offset: place)
            }
            skipSpace()
            try expect(":")
            skipSpace()
            members.append((key, try value()))
            skipSpace()
        }
        try expect("}")
        depth -= 1
        return members
    }

    private mutating func array() throws(ManifestError) -> [JSON] {
        try enter()
        try expect("[")
        var elements: [JSON] = []
        skipSpace()
        while next != UInt8(ascii: "]") {
            if !elements.isEmpty {
                try expect(",")
                skipSpace()
            }
            elements.append(try value())
            skipSpace()
        }
        try expect("]")
        depth -= 1
        return elements
    }

    private mutating func digits() throws(ManifestError) {
        guard let first = next, isDigit(first) else { throw error("expected a digit") }
        while let byte = next, isDigit(byte) { take() }
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private mutating func number() throws(ManifestError) -> String {
        let start = at
        if next == UInt8(ascii: "-") { take() }
        if next == UInt8(ascii: "0") {
            take()
            if let byte = next, isDigit(byte) { throw error("a number must not begin with 0") }
        } else {
            try digits()
        }
        if next == UInt8(ascii: ".") {
            take()
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            take()
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { take() }
            try digits()
        }
        return String(decoding: text[start..<at], as: UTF8.self)
    }

    private mutating func string() throws(ManifestError) -> String {
        try expect("\"")
        var units: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            if byte < 0x20 { throw error("control character in a string") }
            if byte == UInt8(ascii: "\\") {
                units.append(contentsOf: String(try escape()).utf8)
            } else {
                units.append(byte)
                take()
            }
        }
        if next == nil { throw error("unterminated string") }
        try expect("\"")
        return String(decoding: units, as: UTF8.self)
    }

    private mutating func escape() throws(ManifestError) -> Unicode.Scalar {
        let start = at
        take()
        guard let kind = next else { throw error("unterminated string") }
        take()
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            var code = try fourHexDigits()
            if code >> 10 == 0x36, next == UInt8(ascii: "\\") {
                take()
                try expect("u")
                let low = try fourHexDigits()
                if low >> 10 == 0x37 { code = 0x10000 + (code & 0x3FF) << 10 + (low & 0x3FF) }
            }
            guard let scalar = Unicode.Scalar(code) else {
                throw ManifestError(message: "unpaired surrogate", offset: start)
            }
            return scalar
        default: throw ManifestError(message: "unknown escape in a string", offset: start)
        }
    }

    private mutating func fourHexDigits() throws(ManifestError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("expected a hexadecimal digit")
            }
            code = code << 4 | UInt32(digit)
            take()
        }
        return code
    }
}
