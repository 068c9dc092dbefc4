/// Reads one JSON document from bytes: no comments, no trailing commas, no text after the value.
///
/// - Source: RFC 8259; nesting is bounded, so a hostile document cannot exhaust the stack.
package struct JSONParser {
    /// A syntax error and its position.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package var message: String
        /// The offset in bytes from the start.
        package var offset: Int

        package init(message: String, offset: Int) {
            self.message = message
            self.offset = offset
        }

        package var description: String { "\(message) (byte \(offset))" }
    }

    private let bytes: [UInt8]
    private var at = 0
    private var depth = 0
    private let isSource: Bool
    /// The offset of each value, in the order in which values begin; only for a source.
    private var offsets: [Int] = []
    /// A manifest nests six levels; the limit leaves room for later versions.
    private static let maxDepth = 16

    /// Parses a whole document.
    package static func parse(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes, isSource: false)
        return try parser.document()
    }

    /// Parses a document that a person wrote: duplicate keys are errors, and each value has a position.
    ///
    /// - Returns: the document, and the offset of each value in bytes, in the order in which the values begin.
    package static func parseSource(_ bytes: [UInt8]) throws(Failure) -> (document: JSONValue, offsets: [Int]) {
        var parser = JSONParser(bytes, isSource: true)
        let document = try parser.document()
        return (document, parser.offsets)
    }

    private init(_ bytes: [UInt8], isSource: Bool) {
        self.bytes = bytes
        self.isSource = isSource
    }

    private mutating func document() throws(Failure) -> JSONValue {
        let value = try value()
        skipSpace()
        if at < bytes.count { throw failure("unexpected bytes after the document") }
        return value
    }

    private func failure(_ message: String) -> Failure { Failure(message: message, offset: at) }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    private mutating func expect(_ byte: UInt8) throws(Failure) {
        guard next == byte else { throw failure("expected '\(Character(UnicodeScalar(byte)))'") }
        at += 1
    }

    private mutating func value() throws(Failure) -> JSONValue {
        depth += 1
        defer { depth -= 1 }
        if depth > Self.maxDepth { throw failure("nested too deeply") }
        skipSpace()
        if isSource { offsets.append(at) }
        switch next {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return try number()
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw failure("expected a value, found the end of the text")
        default: throw failure("expected a value")
        }
    }

    private mutating func word(_ text: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        guard bytes[at...].starts(with: text.utf8) else { throw failure("expected a value") }
        at += text.utf8.count
        return value
    }

    private mutating func object() throws(Failure) -> [(key: String, value: JSONValue)] {
        try expect(UInt8(ascii: "{"))
        var members: [(key: String, value: JSONValue)] = []
        while try continues(until: UInt8(ascii: "}"), isFirst: members.isEmpty) {
            guard next == UInt8(ascii: "\"") else { throw failure("expected a key in quotation marks") }
            let place = at
            let key = try string()
            if isSource, members.contains(where: { $0.key == key }) {
                throw Failure(message: "duplicate key \"\(key)\"", offset: place)
            }
            skipSpace()
            try expect(UInt8(ascii: ":"))
            members.append((key, try value()))
        }
        return members
    }

    private mutating func array() throws(Failure) -> [JSONValue] {
        try expect(UInt8(ascii: "["))
        var values: [JSONValue] = []
        while try continues(until: UInt8(ascii: "]"), isFirst: values.isEmpty) { values.append(try value()) }
        return values
    }

    /// Moves to the next element of an object or array; false after its end.
    private mutating func continues(until end: UInt8, isFirst: Bool) throws(Failure) -> Bool {
        skipSpace()
        if next == end {
            at += 1
            return false
        }
        if !isFirst { try expect(UInt8(ascii: ",")) }
        skipSpace()
        return true
    }

    private mutating func string() throws(Failure) -> String {
        try expect(UInt8(ascii: "\""))
        if let plain = plainString() { return plain }
        var text: [UInt8] = []
        while let byte = next {
            at += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let result = String(validating: text, as: UTF8.self) else {
                    throw failure("a string is not valid UTF-8")
                }
                return result
            case UInt8(ascii: "\\"): text.append(contentsOf: try escape())
            case 0..<0x20: throw Failure(message: "control character in a string", offset: at - 1)
            default: text.append(byte)
            }
        }
        throw failure("unterminated string")
    }

    /// Returns the rest of a string of ASCII characters without escapes, as most are; nil for any other.
    private mutating func plainString() -> String? {
        var end = at
        while end < bytes.count, (0x20..<0x80).contains(bytes[end]), bytes[end] != UInt8(ascii: "\\") {
            if bytes[end] == UInt8(ascii: "\"") {
                defer { at = end + 1 }
                return String(decoding: bytes[at..<end], as: UTF8.self)
            }
            end += 1
        }
        return nil
    }

    private mutating func escape() throws(Failure) -> [UInt8] {
        guard let byte = next else { throw failure("unterminated string") }
        at += 1
        switch byte {
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "u"):
            var code = try hex4()
            if code & 0xFC00 == 0xD800, bytes[at...].starts(with: "\\u".utf8) {
                at += 2
                let low = try hex4()
                guard low & 0xFC00 == 0xDC00 else { throw failure("unpaired surrogate") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = UnicodeScalar(code) else { throw failure("unpaired surrogate") }
            return Array(String(Character(scalar)).utf8)
        default: throw failure("unknown escape in a string")
        }
    }

    private mutating func hex4() throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw failure("expected four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }

    /// Reads a number: `-`, digits without leading zeros, a fraction, an exponent.
    private mutating func number() throws(Failure) -> JSONValue {
        let start = at
        if next == UInt8(ascii: "-") { at += 1 }
        if next == UInt8(ascii: "0") {
            at += 1
            if let byte = next, Self.isDigit(byte) { throw failure("a number must not begin with 0") }
        } else {
            try digits()
        }
        var isWhole = true
        if next == UInt8(ascii: ".") {
            isWhole = false
            at += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            at += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { at += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        if isWhole, let whole = Int(text) { return .integer(whole) }
        if !isWhole, let real = Double(text), real.isFinite { return .real(real) }
        throw Failure(message: "the number \(text) is too large", offset: start)
    }

    private mutating func digits() throws(Failure) {
        guard let first = next, Self.isDigit(first) else { throw failure("expected a digit") }
        while let byte = next, Self.isDigit(byte) { at += 1 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
