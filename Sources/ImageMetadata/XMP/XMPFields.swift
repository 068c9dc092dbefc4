import ImageModel

/// Writes texts into an XMP packet.
package enum XMPFields {
    /// The Dublin Core property of a field, and its container.
    package static func property(of field: MetadataField) -> (name: String, container: String) {
        switch field {
        case .title: ("title", "Alt")
        case .description: ("description", "Alt")
        case .artist: ("creator", "Seq")
        case .copyright: ("rights", "Alt")
        }
    }

    /// Returns the packet with these texts; nil if the packet cannot be edited.
    ///
    /// Existing values of the fields are removed, and a new description is added at the end of the packet.
    package static func storing(_ fields: [MetadataField: String], in packet: [UInt8]?) -> [UInt8]? {
        var result = packet.map { isEmpty($0) ? empty : $0 } ?? empty
        let ordered = MetadataField.allCases.compactMap { field in fields[field].map { (field, $0) } }
        for (field, _) in ordered { result = removing("dc:" + property(of: field).name, from: result) }
        // What an earlier change has left without a property.
        let unused = Array("\(opening)\(closing)".utf8)
        while let place = first(unused, in: result[...]) { result.removeSubrange(place..<place + unused.count) }
        let end = Array("</rdf:RDF>".utf8)
        guard let place = last(end, in: result) else { return nil }
        var text = ""
        for (field, value) in ordered where !value.isEmpty {
            let (name, container) = property(of: field)
            let language = container == "Alt" ? " xml:lang=\"x-default\"" : ""
            text +=
                "<dc:\(name)><rdf:\(container)><rdf:li\(language)>\(XMLText.escaped(value, isAttribute: false))</rdf:li></rdf:\(container)></dc:\(name)>"
        }
        if !text.isEmpty { text = opening + text + closing }
        result.insert(contentsOf: Array(text.utf8), at: place)
        // A packet with another prefix for Dublin Core keeps its old values: reading the result shows this.
        let tags = XMPReader.read(result)
        for (field, value) in ordered {
            let name = property(of: field).name
            let found = tags.first { $0.group == "XMP-dc" && $0.name.lowercased() == name }
            if (found?.text ?? "") != Texts.decoded(value.utf8) { return nil }
        }
        return result
    }

    private static let opening = "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">"
    private static let closing = "</rdf:Description>"

    private static let empty = Array(
        ("<?xpacket begin=\"\u{FEFF}\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?><x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
            + "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"></rdf:RDF></x:xmpmeta>"
            + "<?xpacket end=\"w\"?>").utf8)

    /// Whether a packet has an element of XMP, and nothing in it.
    private static func isEmpty(_ packet: [UInt8]) -> Bool {
        var reader = XMLReader(packet)
        guard let root = reader.root() else { return false }
        return root.children.isEmpty && ["xmpmeta", "xapmeta", "RDF"].contains(root.name.local)
    }

    /// Removes a property, as an element or as an attribute.
    private static func removing(_ name: String, from packet: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var rest = packet[...]
        let (start, end) = (Array("<\(name)".utf8), Array("</\(name)>".utf8))
        while let open = first(start, in: rest) {
            let after = open + start.count
            guard after < rest.endIndex, " \t\r\n/>".utf8.contains(rest[after]),
                let close = rest[after...].firstIndex(of: UInt8(ascii: ">"))
            else {
                kept += rest[..<after]
                rest = rest[after...]
                continue
            }
            kept += rest[..<open]
            if rest[close - 1] == UInt8(ascii: "/") {
                rest = rest[(close + 1)...]
            } else if let last = first(end, in: rest[close...]) {
                rest = rest[(last + end.count)...]
            } else {
                return packet
            }
        }
        kept += rest
        return removingAttribute(name, from: kept)
    }

    private static func removingAttribute(_ name: String, from packet: [UInt8]) -> [UInt8] {
        let start = Array(" \(name)=".utf8)
        guard let open = first(start, in: packet[...]), open + start.count < packet.count else { return packet }
        let quote = packet[open + start.count]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
            let close = packet[(open + start.count + 1)...].firstIndex(of: quote)
        else { return packet }
        return Array(packet[..<open] + packet[(close + 1)...])
    }

    private static func first(_ wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var place = bytes.startIndex
        while let found = bytes[place...].firstIndex(of: wanted[0]) {
            if bytes[found...].starts(with: wanted) { return found }
            place = found + 1
        }
        return nil
    }

    private static func last(_ wanted: [UInt8], in bytes: [UInt8]) -> Int? {
        var result: Int?
        var rest = bytes[...]
        while let found = first(wanted, in: rest) {
            result = found
            rest = bytes[(found + 1)...]
        }
        return result
    }
}
