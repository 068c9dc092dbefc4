internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The `meta` box that is equivalent to a `mini` box.
///
///     item 1  the image        hvcC or av1C, ispe, pixi, colr, [colr], [irot], [imir]    [prem → 2]
///     item 2  its alpha          hvcC or av1C, ispe, pixi, auxC, [irot], [imir]            auxl → 1
///     item 3  its gain map         hvcC or av1C, ispe, pixi, colr, [irot], [imir]
///     item 4  both together, tmap                                                          dimg → 1, 3
///     item 6  Exif, 7  XMP                                                                 cdsc → 1
///
/// Makes only boxes: the bytes of the items stay in their position in the file.
///
/// - Source: ISO/IEC 23008-12 annex O.
struct MiniBoxes {
    private let image: MiniImage

    init(_ image: MiniImage) { self.image = image }

    private var header: MiniHeader { image.header }
    private var hasAlpha: Bool { !image.alpha.isEmpty }

    private var items: [(id: UInt16, place: Range<Int>)] {
        [(1, image.main), (2, image.alpha), (3, image.gainMap), (6, image.exif), (7, image.xmp)]
            .filter { !$0.1.isEmpty }
    }

    /// The numbers of all items; the tone mapping has no bytes here, because nothing reads them.
    private var numbers: [UInt16] { items.map(\.id) + (image.gainMap.isEmpty ? [] : [4]) }

    /// The payload of the `meta` box.
    var meta: [UInt8] {
        var out = BoxWriter()
        out.u32(0)
        out.fullBox("hdlr") {
            $0.u32(0)
            $0.code("pict")
            $0.bytes += [UInt8](repeating: 0, count: 13)
        }
        out.fullBox("pitm") { $0.u16(1) }
        out.fullBox("iloc") { places(&$0) }
        out.fullBox("iinf") { types(&$0) }
        if numbers.count > 1 { out.fullBox("iref") { references(&$0) } }
        out.box("iprp") { properties(&$0) }
        return out.bytes
    }

    private func places(_ out: inout BoxWriter) {
        // The bytes of an offset and of a length.
        out.u16(0x8400)
        out.u16(UInt16(items.count))
        for item in items {
            out.u16(item.id)
            out.u16(0)
            out.u16(1)
            out.u64(item.place.lowerBound)
            out.u32(UInt32(item.place.count))
        }
    }

    private func types(_ out: inout BoxWriter) {
        out.u16(UInt16(numbers.count))
        for id in numbers {
            // All items except the image are hidden.
            out.fullBox("infe", version: 2, flags: id == 1 ? 0 : 1) {
                $0.u16(id)
                $0.u16(0)
                switch id {
                case 4: $0.code("tmap")
                case 6: $0.code("Exif")
                case 7: $0.code("mime")
                default: $0.code(image.itemType)
                }
                $0.bytes.append(0)
                if id == 7 {
                    $0.text("application/rdf+xml")
                    $0.text(header.isMetadataCompressed ? "deflate" : "")
                }
            }
        }
    }

    private func references(_ out: inout BoxWriter) {
        func link(_ type: FourCC, _ from: UInt16, _ to: UInt16...) {
            out.box(type) {
                $0.bytes += ([from, UInt16(to.count)] + to).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            }
        }
        if hasAlpha { link("auxl", 2, 1) }
        if hasAlpha, header.isPremultiplied { link("prem", 1, 2) }
        if !image.gainMap.isEmpty { link("dimg", 4, 1, 3) }
        for item in items where item.id > 3 { link("cdsc", item.id, 1) }
    }

    private func properties(_ out: inout BoxWriter) {
        var count: UInt8 = 0
        var ofImage: [UInt8] = []
        var ofAlpha: [UInt8] = []
        var ofGainMap: [UInt8] = []
        /// Adds a property; a reader that does not support an essential property must not show the image.
        func add(
            _ list: inout BoxWriter, _ type: FourCC, image: Bool = false, alpha: Bool = false, gainMap: Bool = false,
            essential: Bool = false, _ body: (inout BoxWriter) -> Void
        ) {
            list.box(type, body)
            count += 1
            if image { ofImage.append(count | (essential ? 0x80 : 0)) }
            if alpha { ofAlpha.append(count | (essential ? 0x80 : 0)) }
            if gainMap { ofGainMap.append(count | (essential ? 0x80 : 0)) }
        }
        out.box("ipco") { list in
            add(&list, image.configurationType, image: true, essential: true) { $0.bytes += image.configurations.main }
            add(&list, "ispe", image: true, alpha: true) { extent(&$0, header.size) }
            add(&list, "pixi", image: true) {
                pixelInformation(&$0, channels: header.chroma == 0 ? 1 : 3, depth: header.depth)
            }
            add(&list, "colr", image: true) { colors(&$0, header.codePoints) }
            if !image.profile.isEmpty {
                add(&list, "colr", image: true) {
                    $0.code("prof")
                    $0.bytes += image.profile
                }
            }
            if hasAlpha {
                add(&list, image.configurationType, alpha: true, essential: true) {
                    $0.bytes += image.configurations.alpha
                }
                add(&list, "pixi", alpha: true) { pixelInformation(&$0, channels: 1, depth: header.depth) }
                add(&list, "auxC", alpha: true, essential: true) {
                    $0.u32(0)
                    $0.text("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha")
                }
            }
            if let map = header.gainMap, !image.gainMap.isEmpty {
                add(&list, image.configurationType, gainMap: true, essential: true) {
                    $0.bytes += image.configurations.gainMap
                }
                add(&list, "ispe", gainMap: true) { extent(&$0, map.size) }
                add(&list, "pixi", gainMap: true) {
                    pixelInformation(&$0, channels: map.chroma == 0 ? 1 : 3, depth: map.depth)
                }
                add(&list, "colr", gainMap: true) { colors(&$0, map.codePoints) }
            }
            // First rotated, then mirrored; alpha and gain map as well.
            if let turns = Self.turns[header.orientation] {
                add(&list, "irot", image: true, alpha: true, gainMap: true, essential: true) { $0.bytes.append(turns) }
            }
            if let axis = Self.mirrors[header.orientation] {
                add(&list, "imir", image: true, alpha: true, gainMap: true, essential: true) { $0.bytes.append(axis) }
            }
        }
        out.fullBox("ipma") {
            let all = [(UInt16(1), ofImage), (2, hasAlpha ? ofAlpha : []), (3, image.gainMap.isEmpty ? [] : ofGainMap)]
            let used = all.filter { !$0.1.isEmpty }
            $0.u32(UInt32(used.count))
            for (id, properties) in used {
                $0.u16(id)
                $0.bytes += [UInt8(properties.count)] + properties
            }
        }
    }

    /// Counterclockwise quarter turns, by orientation.
    private static let turns: [Int: UInt8] = [3: 2, 5: 1, 6: 3, 7: 3, 8: 1]
    /// 0: upside down, 1: left and right, by orientation.
    private static let mirrors: [Int: UInt8] = [2: 1, 4: 0, 5: 0, 7: 0]

    private func extent(_ out: inout BoxWriter, _ size: PixelSize) {
        out.u32(0)
        out.u32(UInt32(size.width))
        out.u32(UInt32(size.height))
    }

    private func pixelInformation(_ out: inout BoxWriter, channels: Int, depth: Int) {
        out.u32(0)
        out.bytes.append(UInt8(channels))
        out.bytes += [UInt8](repeating: UInt8(depth), count: channels)
    }

    private func colors(_ out: inout BoxWriter, _ points: CodePoints) {
        out.code("nclx")
        out.u16(UInt16(points.primaries))
        out.u16(UInt16(points.transfer))
        out.u16(UInt16(points.matrix))
        out.bytes.append(points.isFullRange ? 0x80 : 0)
    }
}
