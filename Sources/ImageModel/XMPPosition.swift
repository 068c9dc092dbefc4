/// Removes the position from an XMP packet.
///
/// The packet is not parsed as XML. Properties whose name begins with `GPS` are searched as attributes
/// (`exif:GPSLatitude="…"`) and elements (`<exif:GPSLatitude>…</exif:GPSLatitude>`).
///
/// - Source: XMP part 2 section 3.3 (Exif namespace).
package enum XMPPosition {
    private static let mark = Array(":GPS".utf8)
    private static let space = Set(" \t\r\n".utf8)

    package static func isStored(in packet: [UInt8]) -> Bool { find(mark, in: packet, from: 0) != nil }

    /// Returns the packet without these properties; keeps a property with a structured value.
    ///
    /// - Complexity: linear in the length of the packet.
    package static func removing(_ packet: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var from = 0
        var place = 0
        while let found = find(mark, in: packet, from: place) {
            guard let range = property(around: found, in: packet), range.lowerBound >= from else {
                place = found + mark.count
                continue
            }
            kept += packet[from..<range.lowerBound]
            from = range.upperBound
            place = from
        }
        return kept + packet[from...]
    }

    /// Returns the range of the property whose prefix ends at `colon`.
    private static func property(around colon: Int, in packet: [UInt8]) -> Range<Int>? {
        var start = colon
        while start > 0, isNameByte(packet[start - 1]) { start -= 1 }
        var end = colon + 1
        while end < packet.count, isNameByte(packet[end]) { end += 1 }
        guard start > 0, start < colon else { return nil }
        if packet[start - 1] == UInt8(ascii: "<") { return element(packet[start..<end], at: start - 1, in: packet) }
        guard space.contains(packet[start - 1]) else { return nil }
        // name = "value", including the space before it
        while end < packet.count, space.contains(packet[end]) { end += 1 }
        guard end < packet.count, packet[end] == UInt8(ascii: "=") else { return nil }
        end += 1
        while end < packet.count, space.contains(packet[end]) { end += 1 }
        guard end < packet.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(packet[end]),
            let close = packet[(end + 1)...].firstIndex(of: packet[end])
        else { return nil }
        return start - 1..<close + 1
    }

    /// Returns an element with text content. Reading stops at the next mark, so unclosed elements cost little.
    private static func element(_ name: ArraySlice<UInt8>, at start: Int, in packet: [UInt8]) -> Range<Int>? {
        func mark(from place: Int) -> Int? {
            packet[place...].firstIndex { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") }
        }
        guard let close = mark(from: start + 1), packet[close] == UInt8(ascii: ">") else { return nil }
        if packet[close - 1] == UInt8(ascii: "/") { return start..<close + 1 }
        let last = Array("</".utf8) + name + Array(">".utf8)
        guard let end = mark(from: close + 1), packet[end...].starts(with: last) else { return nil }
        return start..<end + last.count
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }

    private static func find(_ bytes: [UInt8], in packet: [UInt8], from start: Int) -> Int? {
        var place = start
        while place + bytes.count <= packet.count, let next = packet[place...].firstIndex(of: bytes[0]),
            next + bytes.count <= packet.count
        {
            if packet[next..<next + bytes.count].elementsEqual(bytes) { return next }
            place = next + 1
        }
        return nil
    }
}
