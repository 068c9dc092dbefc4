/// Texts as properties of an XMP packet, for formats that store XMP but neither named texts nor IPTC records.
///
///     <rdf:Description rdf:about=""><dc:title><rdf:Alt><rdf:li xml:lang="x-default">…</rdf:li></rdf:Alt></dc:title>…
///
/// - Source: XMP part 1 section 7 (serialization); part 2 sections 3.1 (Dublin Core), 3.3 (Exif) and the IPTC Photo
///   Metadata Standard, which maps IIM data sets to properties.
package struct XMPTexts {
    /// The structure of a property's value.
    private enum Form {
        case simple
        /// One text in the default language.
        case language
        case sequence
        case bag
    }

    private struct Property {
        var name: String
        var form: Form
        var values: [String]
    }

    private var properties: [Property] = []

    package init() {}

    package var isEmpty: Bool { properties.isEmpty }

    /// Keywords of PNG (3rd edition, 11.3.3.1), of comments, and of Exif tags, in lowercase.
    private static let keywords: [String: (name: String, form: Form)] = [
        "title": ("dc:title", .language), "documentname": ("dc:title", .language),
        "author": ("dc:creator", .sequence), "artist": ("dc:creator", .sequence),
        "description": ("dc:description", .language), "imagedescription": ("dc:description", .language),
        "caption": ("dc:description", .language), "copyright": ("dc:rights", .language),
        "comment": ("exif:UserComment", .language), "usercomment": ("exif:UserComment", .language),
        "software": ("xmp:CreatorTool", .simple), "disclaimer": ("xmpRights:UsageTerms", .language),
    ]

    /// Data sets of the IIM application record.
    private static let dataSets: [UInt8: (name: String, form: Form)] = [
        5: ("dc:title", .language), 25: ("dc:subject", .bag), 40: ("photoshop:Instructions", .simple),
        55: ("photoshop:DateCreated", .simple),
        80: ("dc:creator", .sequence), 85: ("photoshop:AuthorsPosition", .simple), 90: ("photoshop:City", .simple),
        95: ("photoshop:State", .simple), 101: ("photoshop:Country", .simple),
        103: ("photoshop:TransmissionReference", .simple), 105: ("photoshop:Headline", .simple),
        110: ("photoshop:Credit", .simple), 115: ("photoshop:Source", .simple), 116: ("dc:rights", .language),
        120: ("dc:description", .language), 122: ("photoshop:CaptionWriter", .simple),
    ]

    private static let namespaces = [
        ("dc", "http://purl.org/dc/elements/1.1/"), ("exif", "http://ns.adobe.com/exif/1.0/"),
        ("photoshop", "http://ns.adobe.com/photoshop/1.0/"), ("xmp", "http://ns.adobe.com/xap/1.0/"),
        ("xmpRights", "http://ns.adobe.com/xap/1.0/rights/"),
    ]

    // MARK: Reading

    /// Adds a named text; false if no property has its meaning.
    package mutating func add(_ key: String, _ text: [UInt8]) -> Bool {
        guard let (name, form) = Self.keywords[key.lowercased()], let value = Self.value(text, isUTF8: false) else {
            return false
        }
        add(name, form, value)
        return true
    }

    /// Adds an IPTC record.
    ///
    ///     1C | record 1 | data set 1 | length 2 | data
    ///
    /// - Source: IPTC-IIM 4.2, sections 1.5 and 1.6.
    /// - Returns: the data sets without a property, such as `2:55`, and whether any data set has one.
    package mutating func add(iptc bytes: [UInt8]) -> (left: [String], isTaken: Bool) {
        var left: [String] = []
        var isTaken = false
        var isUTF8 = false
        var offset = 0
        while offset + 5 <= bytes.count, bytes[offset] == 0x1C {
            let (record, number) = (bytes[offset + 1], bytes[offset + 2])
            let length = Int(bytes[offset + 3]) << 8 | Int(bytes[offset + 4])
            // An extended length belongs to objects, not to texts.
            guard length < 0x8000, length <= bytes.count - offset - 5 else { break }
            let data = Array(bytes[offset + 5..<offset + 5 + length])
            offset += 5 + length
            switch (record, number) {
            case (1, 90): isUTF8 = data == [0x1B, 0x25, 0x47]
            // The versions of the records.
            case (1, 0), (2, 0): break
            default:
                if record == 2, let (name, form) = Self.dataSets[number], let value = Self.value(data, isUTF8: isUTF8) {
                    add(name, form, number == 55 ? Self.date(value) : value)
                    isTaken = true
                } else if !left.contains("\(record):\(number)") {
                    left.append("\(record):\(number)")
                }
            }
        }
        if bytes[min(offset, bytes.count)...].contains(where: { $0 != 0 }) { left.append("bytes behind a damaged one") }
        return (left, isTaken)
    }

    /// Returns `2026-01-31` for `20260131`; other text stays.
    private static func date(_ text: String) -> String {
        guard text.utf8.count == 8, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return text }
        return "\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.suffix(2))"
    }

    /// Returns a text that XML can hold; bytes that are not UTF-8 count as Latin-1.
    private static func value(_ bytes: [UInt8], isUTF8: Bool) -> String? {
        var bytes = bytes
        while bytes.last == 0 { bytes.removeLast() }
        guard !bytes.contains(where: { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) else { return nil }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return isUTF8 ? nil : String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private mutating func add(_ name: String, _ form: Form, _ value: String) {
        guard let place = properties.firstIndex(where: { $0.name == name }) else {
            properties.append(Property(name: name, form: form, values: [value]))
            return
        }
        if properties[place].values.contains(value) { return }
        switch form {
        case .sequence, .bag: properties[place].values.append(value)
        case .simple, .language: properties[place].values[0] += "\n" + value
        }
    }

    // MARK: Writing

    /// Returns a packet with these properties, and the names of those that it cannot take: the packet has another value
    /// for them, or is no ordinary packet.
    ///
    /// The packet is not parsed as XML: the properties are inserted in front of `</rdf:RDF>`.
    package func merged(into packet: [UInt8]?) -> (packet: [UInt8], left: [String]) {
        guard let packet else {
            let text =
                "<?xpacket begin=\"\u{FEFF}\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
                + "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\(Self.description(properties))"
                + "</rdf:RDF></x:xmpmeta>\n<?xpacket end=\"w\"?>"
            return (Array(text.utf8), [])
        }
        var left: [String] = []
        var new: [Property] = []
        for property in properties {
            if Self.position(of: property.name, in: packet) == nil {
                new.append(property)
            } else if !property.values.allSatisfy({
                Self.position(of: XMLText.escaped($0, isAttribute: false), in: packet) != nil
            }) {
                left.append(property.name)
            }
        }
        guard !new.isEmpty else { return (packet, left) }
        guard let end = Self.position(of: "</rdf:RDF>", in: packet) else {
            return (packet, left + new.map(\.name))
        }
        return (Array(packet[..<end]) + Array(Self.description(new).utf8) + Array(packet[end...]), left)
    }

    private static func description(_ properties: [Property]) -> String {
        let used = namespaces.filter { prefix, _ in properties.contains { $0.name.hasPrefix(prefix + ":") } }
        let spaces = used.map { " xmlns:\($0)=\"\($1)\"" }.joined()
        return "<rdf:Description rdf:about=\"\"\(spaces)>\(properties.map(element).joined())</rdf:Description>"
    }

    private static func element(_ property: Property) -> String {
        let values = property.values.map { XMLText.escaped($0, isAttribute: false) }
        let content =
            switch property.form {
            case .simple: values[0]
            case .language: "<rdf:Alt><rdf:li xml:lang=\"x-default\">\(values[0])</rdf:li></rdf:Alt>"
            case .sequence: "<rdf:Seq>\(values.map { "<rdf:li>\($0)</rdf:li>" }.joined())</rdf:Seq>"
            case .bag: "<rdf:Bag>\(values.map { "<rdf:li>\($0)</rdf:li>" }.joined())</rdf:Bag>"
            }
        return "<\(property.name)>\(content)</\(property.name)>"
    }

    private static func position(of text: String, in packet: [UInt8]) -> Int? {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, packet.count >= bytes.count else { return nil }
        return (0...packet.count - bytes.count).first {
            packet[$0] == first && packet[$0..<$0 + bytes.count].elementsEqual(bytes)
        }
    }
}
