/// The name of an element or attribute with the URI of its namespace.
struct XMLName: Hashable {
    var prefix: String
    var local: String
    var uri: String
}

/// An element of an XML document.
struct XMLElement {
    var name: XMLName
    var attributes: [(name: XMLName, value: String)] = []
    var children: [XMLElement] = []
    var text = ""

    func attribute(_ local: String, _ uri: String) -> String? {
        attributes.first { $0.name.local == local && $0.name.uri == uri }?.value
    }
}

/// Reads the part of XML that XMP uses: elements, attributes, text, and the predefined entities.
///
/// A document type is not read, so there are no entities that grow. Depth, elements and text are bounded.
struct XMLReader {
    private let bytes: [UInt8]
    private var place = 0
    private var count = 0
    /// Whether a part is left out, because it is damaged or exceeds a bound.
    private(set) var isDamaged = false
    /// Whether a text is left out in part.
    private(set) var hasCutText = false

    private static let maxDepth = 64
    private static let maxElements = 20_000

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the root element, with the children before the first damaged place; nil if there is none.
    mutating func root() -> XMLElement? {
        while let open = next(UInt8(ascii: "<"), from: place) {
            place = open
            if at("<!--") {
                if !skip(past: "-->") { return nil }
            } else if at("<?") {
                if !skip(past: "?>") { return nil }
            } else if at("<!") {
                return nil
            } else {
                return element(depth: 0, namespaces: ["xml": "http://www.w3.org/XML/1998/namespace"])
            }
        }
        return nil
    }

    private func next(_ byte: UInt8, from start: Int) -> Int? {
        start < bytes.count ? bytes[start...].firstIndex(of: byte) : nil
    }

    private func at(_ text: String) -> Bool {
        bytes[min(place, bytes.count)...].starts(with: text.utf8)
    }

    /// Moves past the next occurrence of a text.
    private mutating func skip(past text: String) -> Bool {
        let wanted = Array(text.utf8)
        while let found = next(wanted[0], from: place) {
            place = found
            if bytes[place...].starts(with: wanted) {
                place += wanted.count
                return true
            }
            place += 1
        }
        place = bytes.count
        return false
    }

    private mutating func skipSpace() {
        while place < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[place]) { place += 1 }
    }

    private mutating func word() -> String {
        let start = place
        let ends = Array(" \t\r\n=/><\"'".utf8)
        while place < bytes.count, place - start < 512, !ends.contains(bytes[place]) { place += 1 }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func fail() { (isDamaged, place) = (true, bytes.count) }

    private static func name(_ word: String, _ namespaces: [String: String], isAttribute: Bool) -> XMLName {
        let parts = word.split(separator: ":", maxSplits: 1).map(String.init)
        if parts.count == 2 { return XMLName(prefix: parts[0], local: parts[1], uri: namespaces[parts[0]] ?? "") }
        return XMLName(prefix: "", local: word, uri: isAttribute ? "" : namespaces[""] ?? "")
    }

    /// Reads an element; `place` is at its `<`.
    private mutating func element(depth: Int, namespaces outer: [String: String]) -> XMLElement {
        place += 1
        count += 1
        let tag = word()
        var attributes: [(word: String, value: String)] = []
        var namespaces = outer
        var isEmpty = false
        while true {
            skipSpace()
            guard place < bytes.count, !tag.isEmpty, depth < Self.maxDepth, count <= Self.maxElements,
                attributes.count < 1024
            else {
                fail()
                break
            }
            if bytes[place] == UInt8(ascii: ">") {
                place += 1
                break
            }
            if at("/>") {
                place += 2
                isEmpty = true
                break
            }
            guard let (key, value) = attribute() else {
                fail()
                break
            }
            if key == "xmlns" {
                namespaces[""] = value
            } else if key.hasPrefix("xmlns:") {
                namespaces[String(key.dropFirst(6))] = value
            } else {
                attributes.append((key, value))
            }
        }
        var result = XMLElement(name: Self.name(tag, namespaces, isAttribute: false))
        result.attributes = attributes.map { (Self.name($0.word, namespaces, isAttribute: true), $0.value) }
        if !isEmpty { content(of: &result, depth: depth, namespaces) }
        return result
    }

    private mutating func attribute() -> (String, String)? {
        let key = word()
        skipSpace()
        guard !key.isEmpty, place < bytes.count, bytes[place] == UInt8(ascii: "=") else { return nil }
        place += 1
        skipSpace()
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") || bytes[place] == UInt8(ascii: "'"),
            let close = next(bytes[place], from: place + 1)
        else { return nil }
        let value = Self.text(bytes[(place + 1)..<close])
        if close - place - 1 > Texts.maxBytes { hasCutText = true }
        place = close + 1
        return (key, value)
    }

    private mutating func content(of element: inout XMLElement, depth: Int, _ namespaces: [String: String]) {
        while !isDamaged {
            guard let open = next(UInt8(ascii: "<"), from: place) else { return fail() }
            if element.text.utf8.count < Texts.maxBytes { element.text += Self.text(bytes[place..<open]) }
            if open - place > Texts.maxBytes { hasCutText = true }
            place = open
            if at("</") {
                guard let close = next(UInt8(ascii: ">"), from: place) else { return fail() }
                place = close + 1
                return
            } else if at("<!--") {
                if !skip(past: "-->") { return fail() }
            } else if at("<![CDATA[") {
                let start = place + 9
                guard skip(past: "]]>"), place - 3 >= start else { return fail() }
                element.text += String(decoding: bytes[start..<place - 3].prefix(Texts.maxBytes), as: UTF8.self)
            } else if at("<?") {
                if !skip(past: "?>") { return fail() }
            } else {
                element.children.append(self.element(depth: depth + 1, namespaces: namespaces))
            }
        }
    }

    /// Decodes text with its entities; unknown entities remain as they are.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let bytes = bytes.prefix(Texts.maxBytes)
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&"), let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
                result.append(byte)
                continue
            }
            let name = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
            guard let scalar = scalar(name) else {
                result.append(byte)
                continue
            }
            result += Array(String(Character(scalar)).utf8)
            rest = rest[(end + 1)...]
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func scalar(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        guard name.hasPrefix("#") else { return nil }
        let isHex = name.hasPrefix("#x") || name.hasPrefix("#X")
        return UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10).flatMap(Unicode.Scalar.init)
    }
}
