import ImageModel

/// Finds the kind of an auxiliary image: usually a gain map, which converts the first image to HDR.
enum GainMap {
    /// The kind that HEIF files also use.
    ///
    /// - Source: ISO 21496-1 annex C; the name of the APP2 segment that holds its metadata.
    static let iso = "urn:iso:std:iso:ts:21496:-1"
    /// - Source: Ultra HDR Image Format v1.1, "XMP attributes".
    static let adobe = "http://ns.adobe.com/hdr-gain-map/1.0/"
    /// The prefix of Apple's own kinds, such as `urn:com:apple:photo:2020:aux:hdrgainmap`.
    private static let apple = "urn:com:apple:photo:"
    private static let longestKind = 128

    /// Returns the URN or namespace of an auxiliary image's kind; nil for any other image.
    ///
    /// - Parameter packet: the XMP of that image. It is not parsed as XML.
    static func kind(of markers: JPEGMarkers, xmp packet: [UInt8]) -> String? {
        if markers.hasGainMapSegment { return iso }
        if let kind = appleKind(in: packet) { return kind }
        return packet.firstIndex(of: Array(adobe.utf8)) == nil ? nil : adobe
    }

    /// The value of `apdi:AuxiliaryImageType`, as attribute or element.
    private static func appleKind(in packet: [UInt8]) -> String? {
        let property = Array("AuxiliaryImageType".utf8)
        guard let start = packet.firstIndex(of: property) else { return nil }
        let between = Array(" \t\r\n=\"'>".utf8)
        let value = packet[(start + property.count)...].prefix(longestKind).drop { between.contains($0) }
        let ends = Array(" \t\r\n\"'<".utf8)
        let kind = value.prefix { !ends.contains($0) && (0x21...0x7E).contains($0) }
        return kind.starts(with: apple.utf8) ? String(decoding: kind, as: UTF8.self) : nil
    }
}
