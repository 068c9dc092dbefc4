/// The name of an XML document's root element.
///
///     (byte order mark) (<?…?> │ <!--…--> │ <!DOCTYPE …>)* <(prefix:)name …
///
/// The rest of the document is not checked. UTF-8 and encodings that share its ASCII range are read directly; UTF-16
/// needs a byte order mark.
///
/// - Source: XML 1.0 (fifth edition), §2.8; Namespaces in XML 1.0, §6.
struct XMLRoot {
    /// The name without its prefix.
    package let name: [UInt8]
    /// The namespace that the root element declares for its prefix; nil if it declares none or the head ends first.
    package let namespace: [UInt8]?

    /// Parses the head of a file.
    ///
    /// - Returns: nil if the head is not XML, or ends before the name does.
    package init?(_ head: [UInt8]) {
        var scanner = XMLScanner(Self.text(head))
        var entities: [ArraySlice<UInt8>: ArraySlice<UInt8>] = [:]
        while true {
            scanner.skipSpace()
            if scanner.take("<?") {
                guard scanner.skip(behind: "?>") != nil else { return nil }
            } else if scanner.take("<!--") {
                guard scanner.skip(behind: "-->") != nil else { return nil }
            } else if scanner.take("<!DOCTYPE") {
                guard scanner.skipDoctype(&entities) else { return nil }
            } else {
                break
            }
        }
        guard scanner.take("<"), let qualified = scanner.name(), scanner.isAtTagDelimiter else { return nil }
        let parts = qualified.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 2, let local = parts.last, !local.isEmpty, !parts[0].isEmpty else { return nil }
        name = Array(local)
        let declaration = parts.count == 2 ? Array("xmlns:".utf8) + parts[0] : Array("xmlns".utf8)
        namespace = scanner.attribute(declaration).map { Array(Self.expand($0, entities)) }
    }

    /// Drawing programs define the namespace as an entity in the document type.
    private static func expand(
        _ value: ArraySlice<UInt8>, _ entities: [ArraySlice<UInt8>: ArraySlice<UInt8>]
    ) -> ArraySlice<UInt8> {
        guard value.first == UInt8(ascii: "&"), value.last == UInt8(ascii: ";") else { return value }
        return entities[value.dropFirst().dropLast()] ?? value
    }

    /// Returns the text as UTF-8 without a byte order mark.
    private static func text(_ head: [UInt8]) -> [UInt8] {
        if head.starts(with: [0xEF, 0xBB, 0xBF]) { return Array(head.dropFirst(3)) }
        let isLittle = head.starts(with: [0xFF, 0xFE])
        guard isLittle || head.starts(with: [0xFE, 0xFF]) else { return head }
        let units = stride(from: 2, to: head.count - 1, by: 2).map { at in
            isLittle
                ? UInt16(head[at]) | UInt16(head[at + 1]) << 8 : UInt16(head[at]) << 8 | UInt16(head[at + 1])
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }
}

/// A forward-only scanner.
private struct XMLScanner {
    private let text: [UInt8]
    private var at = 0

    init(_ text: [UInt8]) { self.text = text }

    private var next: UInt8? { at < text.count ? text[at] : nil }
    private var isAtSpace: Bool { next.map { [0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? false }
    /// Whether the next byte can follow a tag name.
    var isAtTagDelimiter: Bool { isAtSpace || next == UInt8(ascii: ">") || next == UInt8(ascii: "/") }

    mutating func skipSpace() { while isAtSpace { at += 1 } }

    /// Skips a word if it comes next.
    mutating func take(_ word: String) -> Bool {
        guard text[at...].starts(with: word.utf8) else { return false }
        at += word.utf8.count
        return true
    }

    /// Skips to after the next occurrence of a word; returns the bytes before it, or nil if there is none.
    mutating func skip(behind word: String) -> ArraySlice<UInt8>? {
        let start = at
        while at < text.count {
            let here = at
            if take(word) { return text[start..<here] }
            at += 1
        }
        return nil
    }

    /// Reads a value in quotation marks of either kind.
    mutating func quoted() -> ArraySlice<UInt8>? {
        if take("\"") { return skip(behind: "\"") }
        return take("'") ? skip(behind: "'") : nil
    }

    /// Reads a name; nil if none begins here.
    mutating func name() -> ArraySlice<UInt8>? {
        let start = at
        while let byte = next, Self.isName(byte) { at += 1 }
        // A name cannot begin with a digit, dot or hyphen.
        guard let first = text[start..<at].first, first > UInt8(ascii: "9") else { return nil }
        return text[start..<at]
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...0xFF,
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Skips a document type after its keyword; returns whether it ends.
    mutating func skipDoctype(_ entities: inout [ArraySlice<UInt8>: ArraySlice<UInt8>]) -> Bool {
        var isInSubset = false
        var isInDeclaration = false
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                guard quoted() != nil else { return false }
            case UInt8(ascii: "<"):
                guard isInSubset, !isInDeclaration else { return false }
                if take("<!--") {
                    guard skip(behind: "-->") != nil else { return false }
                } else if take("<?") {
                    guard skip(behind: "?>") != nil else { return false }
                } else {
                    isInDeclaration = true
                    if take("<!ENTITY") { noteEntity(&entities) } else { at += 1 }
                }
            case UInt8(ascii: ">"):
                at += 1
                if !isInDeclaration { return !isInSubset }
                isInDeclaration = false
            case UInt8(ascii: "["), UInt8(ascii: "]"):
                let opens = byte == UInt8(ascii: "[")
                guard opens != isInSubset, !isInDeclaration else { return false }
                isInSubset = opens
                at += 1
            default: at += 1
            }
        }
        return false
    }

    /// Parses name "value"; of two entities with one name, the first counts (XML 1.0, §4.2).
    private mutating func noteEntity(_ entities: inout [ArraySlice<UInt8>: ArraySlice<UInt8>]) {
        skipSpace()
        guard let name = name() else { return }
        skipSpace()
        if let value = quoted(), entities[name] == nil { entities[name] = value }
    }

    /// Returns the value of an attribute of the current tag.
    mutating func attribute(_ wanted: [UInt8]) -> ArraySlice<UInt8>? {
        while true {
            skipSpace()
            guard let name = name() else { return nil }
            skipSpace()
            guard take("=") else { return nil }
            skipSpace()
            guard let value = quoted() else { return nil }
            if name.elementsEqual(wanted) { return value }
        }
    }
}
