/// Valid files with every kind of metadata that a format can store, made from files without metadata.
enum MetadataSeeds {
    private typealias Part = PartList.Part

    /// Adds metadata to the first two seeds: a little, and as much as the format allows.
    static func added(to seeds: [[UInt8]], _ container: any PartsMutator) -> [[UInt8]] {
        let valid = seeds.filter { container.parts(of: $0).parts.count > 1 }.prefix(2)
        return valid.flatMap { seed in
            [1, 255].map { length in
                let (head, own) = container.parts(of: seed)
                var parts = own
                for (part, place) in metadata(of: container, length) {
                    parts.insert(part, at: place < 0 ? parts.count + place : min(place, parts.count))
                }
                return container.file(head, container.repaired(parts))
            }
        }
    }

    /// Parts, each with its position; negative from the end.
    ///
    /// - Parameter length: the length of texts and names, unless the format has a lower limit.
    private static func metadata(of container: any PartsMutator, _ length: Int) -> [(part: Part, place: Int)] {
        let text = [UInt8](repeating: 0x78, count: length)
        let long = (0..<300 * length).map { UInt8(0x20 + $0 % 0x5F) }
        let exif = TIFFMutator.thumbnail(isBig: length > 1)
        let xmp = Array(#"<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>"#.utf8)
        switch container {
        case is PNGMutator:
            // Latin-1 outside of ASCII doubles its length as UTF-8.
            let key = [UInt8](repeating: length > 1 ? 0xE9 : 0x4B, count: min(length, 79))
            let umlaut = Array("日本語 é".utf8)
            return [
                chunk("gAMA", .big(45455, 4)), chunk("cHRM", (0..<8).flatMap { [UInt8].big(31270 - $0, 4) }),
                chunk("cICP", [1, 13, 0, 1]), chunk("pHYs", .big(2835, 4) + .big(2834, 4) + [1]), chunk("eXIf", exif),
                chunk("tEXt", key + [0] + text), chunk("tEXt", key + [0]),
                chunk("tEXt", Array("Title".utf8) + [0] + long),
                chunk("iTXt", Array("Comment".utf8) + [0, 0, 0] + Array("ja".utf8) + [0] + umlaut + [0] + umlaut),
                chunk("iTXt", Array("XML:com.adobe.xmp".utf8) + [0, 0, 0, 0, 0] + xmp),
                (chunk("tEXt", Array("Late".utf8) + [0] + text).part, -1),
            ]
        case is JPEGMutator:
            let extended = Array("http://ns.adobe.com/xmp/extension/".utf8) + [0]
            let guid = [UInt8](repeating: 0x41, count: 32)
            let iptc = [0x1C, 2, 120] + .big(text.count, 2) + text
            let resource = Array("8BIM".utf8) + [4, 4, 0, 0] + .big(iptc.count, 4) + iptc
            return [
                ([0xE1], Array("Exif".utf8) + [0, 0] + exif),
                ([0xE1], Array("http://ns.adobe.com/xap/1.0/".utf8) + [0] + xmp),
                ([0xE1], extended + guid + .big(text.count, 4) + .big(0, 4) + text),
                ([0xED], Array("Photoshop 3.0".utf8) + [0] + resource + [UInt8](repeating: 0, count: iptc.count % 2)),
                ([0xE2], Array("ICC_PROFILE".utf8) + [0, 1, 1] + profile(length)), ([0xFE], text),
            ].map { ($0, 1) }
        case is GIFMutator:
            func blocks(_ bytes: [UInt8]) -> [UInt8] {
                stride(from: 0, to: bytes.count, by: 255).flatMap { start -> [UInt8] in
                    let piece = bytes[start..<min(bytes.count, start + 255)]
                    return [UInt8(piece.count)] + piece
                } + [0]
            }
            let trailer = [0x01] + (0...255).reversed().map { UInt8($0) } + [0x00, 0x00]
            return [
                [0x21, 0xFE] + blocks(text), [0x21, 0xFE] + blocks([0xE9, 0x20] + long), [0x21, 0xFE, 0],
                [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + xmp + trailer,
                [0x21, 0xFF, 11] + Array("ICCRGBG1012".utf8) + blocks(profile(length)),
            ].map { (([0x21], $0), 0) }
        case is RIFFMutator:
            return [("EXIF", exif), ("XMP ", xmp), ("ICCP", profile(length)), ("TEXT", text)].map {
                ((Array($0.0.utf8), $0.1), -1)
            }
        default: return []
        }
    }

    private static func chunk(_ kind: String, _ data: [UInt8]) -> (part: Part, place: Int) {
        ((Array(kind.utf8), data), 1)
    }

    /// A profile with only a valid size and signature.
    private static func profile(_ length: Int) -> [UInt8] {
        let body =
            [UInt8](repeating: 0, count: 12) + Array("RGB XYZ ".utf8) + [UInt8](repeating: 0, count: 12)
            + Array("acsp".utf8) + [UInt8](repeating: 0, count: 88 + 4 * length)
        return .big(body.count + 4, 4) + body
    }
}
