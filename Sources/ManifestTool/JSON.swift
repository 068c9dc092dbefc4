/// One JSON value with the place where it stands.
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
    /// Bytes from the start of the text.
    var offset: Int
}

/// What is wrong with a manifest, and where.
struct ManifestError: Error {
    var message: String
    var offset: Int

    /// Line and column, both from 1; a column is a byte.
    func place(in text: [UInt8]) -> (line: Int, column: Int) {
        let before = text.prefix(offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return (before.count { $0 == UInt8(ascii: "\n") } + 1, offset - lineStart + 1)
    }
}

/// Reads one JSON text strictly: no comment, no trailing comma, no key twice, nothing behind the value.
///
/// - Source: RFC 8259.
struct JSONParser {
    private let text: [UInt8]
    private var at = 0
    private var depth = 0
    /// The same text without the white space between tokens.
    private(set) var compact: [UInt8] = []

    /// A manifest is five deep; the bound keeps a hostile file from using up the stack.
    private static let maxDepth = 32

    init(_ text: [UInt8]) { self.text = text }

    mutating func parse() throws(ManifestError) -> JSON {
        skipSpace()
        let value = try value()
        skipSpace()
        if at < text.count { throw error("there is something behind the end of the JSON value") }
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
        guard let next, next == character.asciiValue else { throw error("'\(character)' is expected here") }
        take()
    }

    private mutating func value() throws(ManifestError) -> JSON {
        let start = at
        guard let next else { throw error("the text ends where a value is expected") }
        let content: JSON.Content
        switch next {
        case UInt8(ascii: "{"): content = .object(try object())
        case UInt8(ascii: "["): content = .array(try array())
        case UInt8(ascii: "\""): content = .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): content = .number(try number())
        case UInt8(ascii: "t"): content = try word("true", .bool(true))
        case UInt8(ascii: "f"): content = try word("false", .bool(false))
        case UInt8(ascii: "n"): content = try word("null", .null)
        default: throw error("a JSON value is expected here")
        }
        return JSON(content: content, offset: start)
    }

    private mutating func word(_ word: String, _ content: JSON.Content) throws(ManifestError) -> JSON.Content {
        guard text[at...].starts(with: word.utf8) else { throw error("a JSON value is expected here") }
        for _ in word.utf8 { take() }
        return content
    }

    private mutating func enter() throws(ManifestError) {
        depth += 1
        if depth > Self.maxDepth { throw error("values are nested more than \(Self.maxDepth) deep") }
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
            guard next == UInt8(ascii: "\"") else { throw error("a key in quotation marks is expected here") }
            let place = at
            let key = try string()
            if members.contains(where: { $0.key == key }) {
                throw ManifestError(message: "the key \"\(key)\" stands here a second time", offset: place)
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
        guard let first = next, isDigit(first) else { throw error("a digit is expected here") }
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
            if byte < 0x20 { throw error("a control character inside a string") }
            if byte == UInt8(ascii: "\\") {
                units.append(contentsOf: String(try escape()).utf8)
            } else {
                units.append(byte)
                take()
            }
        }
        if next == nil { throw error("the text ends inside a string") }
        try expect("\"")
        return String(decoding: units, as: UTF8.self)
    }

    private mutating func escape() throws(ManifestError) -> Unicode.Scalar {
        let start = at
        take()
        guard let kind = next else { throw error("the text ends inside a string") }
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
                throw ManifestError(message: "half of a surrogate pair", offset: start)
            }
            return scalar
        default: throw ManifestError(message: "an unknown escape inside a string", offset: start)
        }
    }

    private mutating func fourHexDigits() throws(ManifestError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("a hexadecimal digit is expected here")
            }
            code = code << 4 | UInt32(digit)
            take()
        }
        return code
    }
}
