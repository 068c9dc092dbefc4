/// Reads the properties of an XMP packet.
///
/// - Source: ISO 16684-1:2019 chapter 7 (serialization); names as exiftool prints them.
struct XMPReader {
    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    private static let xml = "http://www.w3.org/XML/1998/namespace"

    private var tags: [MetadataTag] = []
    private var places: [String: Int] = [:]

    static func read(_ packet: [UInt8]) -> [MetadataTag] {
        var omissions: [String] = []
        return read(packet, omissions: &omissions)
    }

    /// - Parameter omissions: receives a warning for each part that is left out.
    static func read(_ packet: [UInt8], omissions: inout [String]) -> [MetadataTag] {
        var xml = XMLReader(packet)
        let isUTF16 = packet.starts(with: [0xFE, 0xFF]) || packet.starts(with: [0xFF, 0xFE])
        guard !isUTF16, let root = xml.root() else {
            omissions.append("the XMP packet is no UTF-8 XML document, so its tags are left out")
            return []
        }
        if xml.isDamaged { omissions.append("the XMP packet is damaged or too large: some of its tags are left out") }
        if xml.hasCutText { omissions.append(Texts.omission("a text in the XMP packet")) }
        var reader = XMPReader()
        if let toolkit = root.attribute("xmptk", "adobe:ns:meta/") {
            reader.tags.append(MetadataTag("XMP-x", "XMPToolkit", .text(toolkit)))
        }
        for element in root.name.local == "RDF" ? [root] : root.children where isRDF(element.name, "RDF") {
            for description in element.children where isRDF(description.name, "Description") {
                reader.fields(of: description, "", group: nil)
            }
        }
        return reader.tags
    }

    private static func isRDF(_ name: XMLName, _ local: String) -> Bool { name.uri == rdf && name.local == local }

    /// Reads the attributes and elements of a structure.
    private mutating func fields(of element: XMLElement, _ above: String, group: String?) {
        for (name, value) in element.attributes where name.uri != Self.rdf && name.uri != Self.xml && !name.uri.isEmpty
        {
            add(value, above + Self.capital(name.local), group ?? XMPNames.group(name), name)
        }
        for child in element.children { property(child, above, group: group) }
    }

    private mutating func property(_ element: XMLElement, _ above: String, group: String?) {
        let name = above + Self.capital(element.name.local)
        let group = group ?? XMPNames.group(element.name)
        if let resource = element.attribute("resource", Self.rdf) {
            add(resource, name, group, element.name)
            return
        }
        if let list = element.children.first(where: {
            $0.name.uri == Self.rdf && ["Bag", "Seq", "Alt"].contains($0.name.local)
        }) {
            for (index, item) in list.children.enumerated() {
                if Self.isStructure(item) {
                    fields(of: item.children.first { Self.isRDF($0.name, "Description") } ?? item, name, group: group)
                    continue
                }
                let language = item.attribute("lang", Self.xml) ?? "x-default"
                let isOther = list.name.local == "Alt" && language != "x-default" && index > 0
                add(item.text, isOther ? "\(name)-\(language)" : name, group, element.name)
            }
            return
        }
        if Self.isStructure(element) {
            fields(of: element.children.first { Self.isRDF($0.name, "Description") } ?? element, name, group: group)
        } else {
            add(element.text, name, group, element.name)
        }
    }

    private static func isStructure(_ element: XMLElement) -> Bool {
        !element.children.isEmpty || element.attribute("parseType", rdf) == "Resource"
            || element.attributes.contains { $0.name.uri != rdf && $0.name.uri != xml && !$0.name.uri.isEmpty }
    }

    private static func capital(_ name: String) -> String {
        name.prefix(1).uppercased() + name.dropFirst()
    }

    /// Adds a value; values with the same name form a list.
    private mutating func add(_ text: String, _ name: String, _ group: String, _ source: XMLName) {
        guard tags.count < MetadataTag.maxCount, name.utf8.count <= 512 else { return }
        let trimmed = Texts.decoded(text.utf8.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) })
        let tag = XMPNames.tag(group, name, trimmed)
        let key = "\(group):\(tag.name)"
        if let place = places[key] {
            tags[place].append(tag.text)
        } else {
            places[key] = tags.count
            tags.append(tag)
        }
    }
}
