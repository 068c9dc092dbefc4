/// Reads one JSON document from bytes.
///
/// - Source: RFC 8259; nesting is bounded, so a hostile document cannot exhaust the stack.
package struct JSONParser {
    /// A syntax error and its position.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package var message: String
        /// The offset in bytes from the start.
        package var offset: Int

        package var description: String { "\(message) (byte \(offset))" }
    }

    private let bytes: [UInt8]
    private var at = 0
    private var depth = 0
    /// A manifest nests six levels; the limit leaves room for later versions.
    private static let maxDepth = 16

    /// Parses a whole document.
    package static func parse(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes: bytes)
        let value = try parser.value()
        parser.skipSpace()
        if parser.at < bytes.count { throw parser.failure("unexpected bytes after the document") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

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
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw failure("unexpected end of the document")
        default: return try number()
        }
    }

    private mutating func word(_ text: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        for byte in text.utf8 { try expect(byte) }
        return value
    }

    private mutating func object() throws(Failure) -> JSONValue {
        try expect(UInt8(ascii: "{"))
        var members: [(key: String, value: JSONValue)] = []
        skipSpace()
        if next == UInt8(ascii: "}") {
            at += 1
            return .object(members)
        }
        while true {
            skipSpace()
            let key = try string()
            skipSpace()
            try expect(UInt8(ascii: ":"))
            members.append((key, try value()))
            skipSpace()
            if next == UInt8(ascii: ",") {
                at += 1
                continue
            }
            try expect(UInt8(ascii: "}"))
            return .object(members)
        }
    }

    private mutating func array() throws(Failure) -> JSONValue {
        try expect(UInt8(ascii: "["))
        var values: [JSONValue] = []
        skipSpace()
        if next == UInt8(ascii: "]") {
            at += 1
            return .array(values)
        }
        while true {
            values.append(try value())
            skipSpace()
            if next == UInt8(ascii: ",") {
                at += 1
                continue
            }
            try expect(UInt8(ascii: "]"))
            return .array(values)
        }
    }

    private mutating func string() throws(Failure) -> String {
        try expect(UInt8(ascii: "\""))
        var text: [UInt8] = []
        while let byte = next {
            at += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let result = String(validating: text, as: UTF8.self) else { throw failure("not UTF-8") }
                return result
            case UInt8(ascii: "\\"): text.append(contentsOf: try escape())
            case 0..<0x20: throw failure("a control character in a string")
            default: text.append(byte)
            }
        }
        throw failure("unterminated string")
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
            if code & 0xFC00 == 0xD800 {
                try expect(UInt8(ascii: "\\"))
                try expect(UInt8(ascii: "u"))
                let low = try hex4()
                guard low & 0xFC00 == 0xDC00 else { throw failure("unpaired surrogate") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = UnicodeScalar(code) else { throw failure("unpaired surrogate") }
            return Array(String(Character(scalar)).utf8)
        default: throw failure("unknown escape")
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

    private mutating func number() throws(Failure) -> JSONValue {
        let start = at
        while let byte = next, "+-.eE0123456789".utf8.contains(byte) { at += 1 }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        if let whole = Int(text) { return .integer(whole) }
        if text.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }),
            let real = Double(text), real.isFinite
        {
            return .real(real)
        }
        at = start
        throw failure("expected a value")
    }
}
