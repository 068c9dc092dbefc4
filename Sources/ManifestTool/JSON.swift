import JSONModel

/// A JSON value of a manifest with its position in the text.
struct JSON {
    enum Content {
        /// A value without elements.
        case plain(JSONValue)
        case array([JSON])
        case object([(key: String, value: JSON)])
    }

    var content: Content
    /// The offset from the start of the text in bytes.
    var offset: Int

    /// Parses a manifest.
    init(_ text: [UInt8]) throws(ManifestError) {
        do throws(JSONParser.Failure) {
            let (document, offsets) = try JSONParser.parseSource(text)
            var rest = offsets[...]
            self.init(document, &rest)
        } catch {
            throw ManifestError(message: error.message, offset: error.offset)
        }
    }

    private init(_ value: JSONValue, _ offsets: inout ArraySlice<Int>) {
        offset = offsets.removeFirst()
        content =
            switch value {
            case .array(let elements): .array(elements.map { JSON($0, &offsets) })
            case .object(let members): .object(members.map { ($0.key, JSON($0.value, &offsets)) })
            default: .plain(value)
            }
    }

    /// Returns the text without white space between tokens.
    static func compact(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var isInString = false
        var isEscaped = false
        for byte in text {
            if !isInString, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { continue }
            result.append(byte)
            if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return result
    }
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
