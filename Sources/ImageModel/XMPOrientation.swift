/// Finds and changes the orientation in an XMP packet.
///
/// The packet is not parsed as XML. The property is searched under its customary prefix, as an attribute
/// (`tiff:Orientation="6"`) or an element (`<tiff:Orientation>6</…`), and only the digit is changed.
///
/// - Source: XMP part 2 section 3.4, tiff:Orientation.
package enum XMPOrientation {
    /// Returns the stored orientation; nil if it is missing or not 1 … 8.
    package static func read(_ packet: [UInt8]) -> Orientation? {
        locate(packet).flatMap { Orientation(rawValue: Int(packet[$0]) - 0x30) }
    }

    /// Returns the packet with the orientation set to `orientation`; unchanged if it has none.
    package static func replacing(_ packet: [UInt8], with orientation: Orientation) -> [UInt8] {
        guard let place = locate(packet) else { return packet }
        var copy = packet
        copy[place] = UInt8(0x30 + orientation.rawValue)
        return copy
    }

    /// Returns the position of the value's single digit.
    private static func locate(_ packet: [UInt8]) -> Int? {
        let name = Array("tiff:Orientation".utf8)
        guard packet.count > name.count else { return nil }
        let last = packet.count - name.count
        guard
            let start = (0...last).first(where: {
                packet[$0] == name[0] && packet[$0..<$0 + name.count].elementsEqual(name)
            })
        else { return nil }
        let between = Array(" \t\r\n=\"'>".utf8)
        let digits = UInt8(0x30)...0x39
        let value = packet[(start + name.count)...].prefix(16).drop { between.contains($0) }
        guard let first = value.first, digits.contains(first) else { return nil }
        return value.dropFirst().first.map(digits.contains) == true ? nil : value.startIndex
    }
}
