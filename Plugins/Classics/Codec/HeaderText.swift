import CoderPluginKit
import ImageModel

/// Reads headers in ASCII.
enum HeaderText {
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    /// Reads a word, and one white space behind it; skips white space before it.
    static func word(_ reader: inout ByteReader, most: Int) throws(CoderError) -> String {
        var bytes: [UInt8] = []
        while true {
            let byte = try reader.u8()
            if isSpace(byte) {
                if bytes.isEmpty { continue }
                return String(decoding: bytes, as: UTF8.self)
            }
            guard bytes.count < most else { throw .corrupt("a word of the header is too long", at: reader.offset) }
            bytes.append(byte)
        }
    }

    /// Reads a decimal number and one white space behind it.
    static func number(_ reader: inout ByteReader) throws(CoderError) -> Int {
        let start = reader.offset
        let text = try word(&reader, most: 20)
        guard let value = Int(text), value >= 0 else { throw .corrupt("\"\(text)\" is no size", at: start) }
        return value
    }

    /// Reads a line without its end, which is a line feed.
    static func line(_ reader: inout ByteReader, most: Int) throws(CoderError) -> String {
        var bytes: [UInt8] = []
        while true {
            let byte = try reader.u8()
            if byte == 0x0a { break }
            guard bytes.count < most else { throw .corrupt("a line of the header is too long", at: reader.offset) }
            bytes.append(byte)
        }
        if bytes.last == 0x0d { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
