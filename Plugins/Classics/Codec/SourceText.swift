import CoderPluginKit
import ImageModel

/// A format that is a piece of C source: the bytes, and a position in them.
struct SourceText {
    let bytes: [UInt8]
    var offset = 0

    /// Copies the whole source.
    ///
    /// - Throws: `.needsInput` until all bytes have arrived; `.limitExceeded`.
    init(_ session: DecoderSession) throws(CoderError) {
        guard session.source.isComplete else { throw .needsInput }
        let count = session.source.available
        try session.host.reserve(bytes: count)
        bytes = session.source.bytes(0..<count)
    }

    var isAtEnd: Bool { offset >= bytes.count }

    /// Skips white space and comments.
    mutating func skipSpace() {
        while offset < bytes.count {
            if HeaderText.isSpace(bytes[offset]) {
                offset += 1
            } else if has("/*") {
                offset += 2
                while offset < bytes.count, !has("*/") { offset += 1 }
                offset = min(bytes.count, offset + 2)
            } else {
                return
            }
        }
    }

    /// Whether the text continues with these characters.
    func has(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - offset >= count else { return false }
        return text.description.utf8.elementsEqual(bytes[offset..<offset + count])
    }

    /// Reads a word of letters, digits and underscores; empty if there is none.
    mutating func word() -> String {
        let start = offset
        while offset < bytes.count, Self.isWordPart(bytes[offset]) { offset += 1 }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        byte == 0x5f || byte >= 0x80 || (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20)
    }

    /// Reads a number of C: decimal, octal or hexadecimal; nil if there is none.
    mutating func number() -> Int? {
        let isNegative = has("-")
        if isNegative { offset += 1 }
        let text = word()
        var value: Int?
        if text.hasPrefix("0x") || text.hasPrefix("0X") {
            value = Int(text.dropFirst(2), radix: 16)
        } else if text.hasPrefix("0"), text.utf8.count > 1 {
            value = Int(text, radix: 8)
        } else {
            value = Int(text)
        }
        guard let value else { return nil }
        return isNegative ? 0 &- value : value
    }

    /// Reads the next string literal; nil if there is none.
    mutating func string() -> [UInt8]? {
        while true {
            skipSpace()
            guard offset < bytes.count else { return nil }
            if bytes[offset] == UInt8(ascii: "\"") { break }
            offset += 1
        }
        var result: [UInt8] = []
        offset += 1
        while offset < bytes.count {
            var byte = bytes[offset]
            offset += 1
            if byte == UInt8(ascii: "\"") { return result }
            if byte == UInt8(ascii: "\\"), offset < bytes.count {
                byte = bytes[offset]
                offset += 1
            }
            result.append(byte)
        }
        return nil
    }
}
