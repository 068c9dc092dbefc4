/// Removes properties from an XMP packet that describe further images of the same file, such as a gain map.
///
///     <rdf:Description xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0" …>     attributes
///       <Container:Directory> … <Container:Item Item:Semantic="GainMap" Item:Length="4096"/> …        elements
///
/// Reads tags and attributes, but no other part of XML. A prefix belongs to the namespace that the packet declares.
///
/// - Source: Ultra HDR Image Format v1.1; Adobe gain map specification 1.0; Google's Motion Photo format 1.0.
package enum XMPFurtherImages {
    /// Namespaces whose properties all describe further images.
    private static let namespaces = Set(
        [
            "http://ns.adobe.com/hdr-gain-map/1.0/", "http://ns.google.com/photos/1.0/container/",
            "http://ns.google.com/photos/1.0/container/item/", "http://ns.apple.com/HDRGainMap/1.0/",
            "http://ns.apple.com/pixeldatainfo/1.0/",
        ].map { Array($0.utf8) })
    /// A namespace with a few such properties, whose names begin like these.
    private static let camera = Array("http://ns.google.com/photos/1.0/camera/".utf8)
    private static let cameraNames = ["MotionPhoto", "MicroVideo"].map { Array($0.utf8) }

    /// Returns the packet without these properties; unchanged if it has none, or if its tags cannot be read.
    ///
    /// - Complexity: linear in the length of the packet.
    package static func removing(_ packet: [UInt8]) -> [UInt8] {
        guard let tags = XMLTags(packet)?.tags else { return packet }
        let prefixes = Prefixes(tags, packet)
        if prefixes.isEmpty { return packet }
        var kept: [UInt8] = []
        var from = 0
        func cut(_ range: Range<Int>) {
            kept += packet[from..<range.lowerBound]
            from = range.upperBound
        }
        // The start tag of a removed element, and the number of elements that are open in it.
        var removed: (first: XMLTags.Tag, depth: Int)?
        for tag in tags {
            if let (first, depth) = removed {
                let rest = depth + (tag.closes ? -1 : tag.isEmpty ? 0 : 1)
                removed = rest > 0 ? (first, rest) : nil
                if rest > 0 { continue }
                guard packet[tag.name] == packet[first.name] else { return packet }
                cut(first.range.lowerBound..<tag.range.upperBound)
            } else if prefixes.match(packet[tag.name]), !tag.closes {
                if tag.isEmpty { cut(tag.range) } else { removed = (tag, 1) }
            } else {
                for attribute in tag.attributes where prefixes.match(packet[attribute.name]) { cut(attribute.range) }
            }
        }
        // An element without end tag: the packet is damaged, and nothing else is known to be safe.
        return removed == nil ? kept + packet[from...] : packet
    }

    /// The prefixes that the packet declares for the namespaces.
    private struct Prefixes {
        private var whole: Set<[UInt8]> = []
        private var camera: Set<[UInt8]> = []
        private static let declaration = Array("xmlns:".utf8)

        init(_ tags: [XMLTags.Tag], _ packet: [UInt8]) {
            for attribute in tags.flatMap(\.attributes) {
                let name = packet[attribute.name]
                guard name.starts(with: Self.declaration) else { continue }
                let prefix = Array(name.dropFirst(Self.declaration.count))
                let namespace = Array(packet[attribute.value])
                if namespaces.contains(namespace) { whole.insert(prefix) }
                if namespace == XMPFurtherImages.camera { camera.insert(prefix) }
            }
        }

        var isEmpty: Bool { whole.isEmpty && camera.isEmpty }

        /// Whether a name is one of the properties, or declares their prefix.
        func match(_ name: ArraySlice<UInt8>) -> Bool {
            guard let colon = name.firstIndex(of: UInt8(ascii: ":")) else { return false }
            let (prefix, local) = (Array(name[..<colon]), name[(colon + 1)...])
            if name.starts(with: Self.declaration) { return whole.contains(Array(local)) }
            return whole.contains(prefix)
                || camera.contains(prefix) && cameraNames.contains { local.starts(with: $0) }
        }
    }
}

/// The tags of an XML text with their attributes, by position; skips comments, instructions and CDATA.
struct XMLTags {
    struct Tag {
        /// From `<` to behind `>`.
        let range: Range<Int>
        let name: Range<Int>
        let closes: Bool
        /// Whether it is an element of its own, `<a/>`.
        let isEmpty: Bool
        let attributes: [Attribute]
    }

    struct Attribute {
        /// Includes the space in front of the name.
        let range: Range<Int>
        let name: Range<Int>
        /// Without quotes.
        let value: Range<Int>
    }

    private(set) var tags: [Tag] = []
    private let text: [UInt8]
    private var place = 0

    private static let space = Set(" \t\r\n".utf8)
    private static let nameEnds = Set(" \t\r\n=/>\"'<".utf8)

    /// Nil if a tag is damaged.
    init?(_ text: [UInt8]) {
        self.text = text
        while let start = text[place...].firstIndex(of: UInt8(ascii: "<")) {
            place = start
            if let end = skipped("<!--", to: "-->") ?? skipped("<![CDATA[", to: "]]>") ?? skipped("<?", to: "?>") {
                if end > text.count { return nil }
                place = end
                continue
            }
            guard let tag = tag() else { return nil }
            tags.append(tag)
        }
    }

    /// Returns the end of a part with these marks; nil if no such part begins here, behind the text if it has no end.
    private func skipped(_ first: String, to last: String) -> Int? {
        guard text[place...].starts(with: first.utf8) else { return nil }
        let last = Array(last.utf8)
        var end = place + first.utf8.count
        while end + last.count <= text.count {
            if text[end..<end + last.count].elementsEqual(last) { return end + last.count }
            end += 1
        }
        return text.count + 1
    }

    private mutating func tag() -> Tag? {
        let start = place
        place += 1
        let closes = take("/")
        guard let name = name() else { return nil }
        var attributes: [Attribute] = []
        while true {
            let space = place
            skipSpace()
            if take(">") {
                return Tag(range: start..<place, name: name, closes: closes, isEmpty: false, attributes: attributes)
            }
            if take("/") {
                guard !closes, take(">") else { return nil }
                return Tag(range: start..<place, name: name, closes: false, isEmpty: true, attributes: attributes)
            }
            guard place > space, let name = self.name() else { return nil }
            skipSpace()
            guard take("=") else { return nil }
            skipSpace()
            guard place < text.count, text[place] == UInt8(ascii: "\"") || text[place] == UInt8(ascii: "'"),
                let end = text[(place + 1)...].firstIndex(of: text[place])
            else { return nil }
            attributes.append(Attribute(range: space..<end + 1, name: name, value: place + 1..<end))
            place = end + 1
        }
    }

    private mutating func name() -> Range<Int>? {
        let start = place
        while place < text.count, !Self.nameEnds.contains(text[place]) { place += 1 }
        return place > start ? start..<place : nil
    }

    private mutating func skipSpace() {
        while place < text.count, Self.space.contains(text[place]) { place += 1 }
    }

    private mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard place < text.count, text[place] == UInt8(ascii: mark) else { return false }
        place += 1
        return true
    }
}
