import ImageModel

/// Splits a packet that is too large for one segment into a short packet and an extended one.
///
/// - Source: XMP part 3 section 1.1.3.1.
enum ExtendedXMP {
    /// The key of the extended packet among the blobs of a decoder.
    static let key = JPEGMetadata.extendedXMPKey
    static let nameCount = 32

    /// Returns the name of the extension that a packet announces, as attribute (`xmpNote:HasExtendedXMP="…"`) or
    /// element.
    static func name(in packet: [UInt8]) -> [UInt8]? {
        let property = Array("HasExtendedXMP".utf8)
        guard let start = packet.firstRange(of: property)?.upperBound else { return nil }
        let value = packet[start...].prefix(64).drop { Array(" \t\r\n=\"'>".utf8).contains($0) }
        let name = Array(value.prefix(nameCount))
        return name.count == nameCount && name.allSatisfy(isHexDigit) ? name : nil
    }

    /// Returns a packet that announces an extension, and repeats the orientation for readers without extension support.
    static func packet(naming name: [UInt8], orientation: Orientation?) -> [UInt8] {
        let tiff = "xmlns:tiff=\"http://ns.adobe.com/tiff/1.0/\""
        let turn = orientation.map { " \(tiff) tiff:Orientation=\"\($0.rawValue)\"" } ?? ""
        return Array(
            """
            <?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?>\
            <x:xmpmeta xmlns:x="adobe:ns:meta/">\
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            <rdf:Description rdf:about="" xmlns:xmpNote="http://ns.adobe.com/xmp/note/"\(turn) \
            xmpNote:HasExtendedXMP="\(String(decoding: name, as: UTF8.self))"/>\
            </rdf:RDF></x:xmpmeta><?xpacket end="w"?>
            """.utf8)
    }

    /// Returns the packet without its wrapper and padding, which belong to the short one.
    static func withoutWrapper(_ packet: [UInt8]) -> [UInt8] {
        var body = packet[...]
        if body.starts(with: "<?xpacket".utf8), let head = packet.firstRange(of: Array("?>".utf8)) {
            body = body[head.upperBound...]
        }
        if let tail = packet.lastRange(of: Array("<?xpacket".utf8)), tail.lowerBound >= body.startIndex {
            body = body[..<tail.lowerBound]
        }
        let spaces = Array(" \t\r\n".utf8)
        while let last = body.last, spaces.contains(last) { body.removeLast() }
        while let first = body.first, spaces.contains(first) { body.removeFirst() }
        return Array(body)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}

extension [UInt8] {
    /// Returns the first position of `pattern`.
    fileprivate func firstRange(of pattern: [UInt8]) -> Range<Int>? {
        guard count >= pattern.count else { return nil }
        return (0...count - pattern.count).first { matches(pattern, at: $0) }.map { $0..<$0 + pattern.count }
    }

    /// Returns the last position of `pattern`.
    fileprivate func lastRange(of pattern: [UInt8]) -> Range<Int>? {
        guard count >= pattern.count else { return nil }
        return (0...count - pattern.count).last { matches(pattern, at: $0) }.map { $0..<$0 + pattern.count }
    }

    private func matches(_ pattern: [UInt8], at start: Int) -> Bool {
        self[start] == pattern[0] && self[start..<start + pattern.count].elementsEqual(pattern)
    }
}
