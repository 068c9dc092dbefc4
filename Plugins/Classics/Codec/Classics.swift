package import CoderPluginKit

/// The coders of the room, in the order of the manifest.
package enum Classics {
    /// The coders; those that write light or black and white are apart, because such values do not come back as given.
    package static let coders: [Coder] = [
        coder("qoi", RowDecoder<QOIRows>.self, RowsEncoder<QOIWriter>.self),
        coder("tga", RowDecoder<TGARows>.self, RowsEncoder<TGAWriter>.self),
        coder("pfm", RowDecoder<PFMRows>.self),
        coder("encoder.pfm", nil, RowsEncoder<PFMWriter>.self),
        coder("hdr", RowDecoder<HDRRows>.self),
        coder("encoder.hdr", nil, RowsEncoder<HDRWriter>.self),
        coder("pcx", RowDecoder<PCXRows>.self),
        coder("dcx", DCXDecoder.self),
        coder("sgi", RowDecoder<SGIRows>.self),
        coder("ras", RowDecoder<SunRows>.self),
        coder("wbmp", RowDecoder<WBMPRows>.self),
        coder("xbm", RowDecoder<XBMRows>.self),
        coder("encoder.xbm", nil, RowsEncoder<XBMWriter>.self),
        coder("xpm", RowDecoder<XPMRows>.self),
        coder("dds", DDSDecoder.self),
    ]

    /// The formats that need the whole file: text, and a palette behind the pixels, pages.
    private static let needsEnd: Set = ["pcx", "dcx", "xbm", "xpm"]

    private static func coder(
        _ name: String, _ decoder: (any ImageDecoder.Type)?, _ encoder: (any ImageEncoder.Type)? = nil
    ) -> Coder {
        var roles: CoderRoles = decoder == nil || needsEnd.contains(name) ? [] : [.incremental]
        if name == "dds" { roles.insert(.scale) }
        return Coder(id: "org.coderhost.\(name)", decoder: decoder, encoder: encoder, roles: roles)
    }
}
