/// Segments of a JPEG file, made by hand.
///
/// - Source: ITU-T T.81 B.1.1; JFIF 1.02; Adobe TN 5116; CIPA DC-007 section 5.2.
enum JPEGSegments {
    static func make(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] { [0xFF, marker] + u16(body.count + 2) + body }

    static func make(_ marker: UInt8, _ name: String, _ body: [UInt8]) -> [UInt8] {
        make(marker, Array(name.utf8) + body)
    }

    static func u16(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    static func u32(_ value: Int) -> [UInt8] { u16(value >> 16) + u16(value) }

    static func jfif(_ across: Int = 72, _ down: Int = 72, thumbnail: [UInt8] = [0, 0]) -> [UInt8] {
        make(0xE0, "JFIF\0", [1, 2, 1] + u16(across) + u16(down) + thumbnail)
    }

    static let jfifExtension = make(0xE0, "JFXX\0", [0x13, 1, 1, 9, 9, 9])
    /// Without a color transform.
    static let adobe = make(0xEE, "Adobe", [0, 100, 0, 0, 0, 0, 0])

    static func exif(_ tiff: [UInt8]) -> [UInt8] { make(0xE1, "Exif\0\0", tiff) }
    static func xmp(_ packet: String) -> [UInt8] { make(0xE1, "http://ns.adobe.com/xap/1.0/\0", Array(packet.utf8)) }

    static func xmpExtension(_ name: String, _ bytes: [UInt8], at offset: Int = 0, of total: Int? = nil) -> [UInt8] {
        make(
            0xE1, "http://ns.adobe.com/xmp/extension/\0",
            Array(name.utf8) + u32(total ?? bytes.count) + u32(offset) + bytes)
    }

    static func icc(_ bytes: [UInt8], _ number: UInt8 = 1, of count: UInt8 = 1) -> [UInt8] {
        make(0xE2, "ICC_PROFILE\0", [number, count] + bytes)
    }

    static func photoshop(_ resources: [UInt8]) -> [UInt8] { make(0xED, "Photoshop 3.0\0", resources) }

    /// A resource without a name.
    static func resource(_ id: Int, _ data: [UInt8]) -> [UInt8] {
        Array("8BIM".utf8) + u16(id) + [0, 0] + u32(data.count) + data + (data.count % 2 == 1 ? [0] : [])
    }

    static func comment(_ text: String) -> [UInt8] { make(0xFE, Array(text.utf8)) }

    /// The index of further images.
    ///
    /// - Parameters:
    ///   - kinds: the attribute words of the entries; 0 for the remaining ones.
    ///   - count: the declared number of images; nil for the number of entries.
    static func multiPicture(
        _ entries: [(size: Int, offset: Int)], kinds: [Int] = [], count: Int? = nil, isBigEndian: Bool = true
    ) -> [UInt8] {
        func number(_ bytes: [UInt8]) -> [UInt8] { isBigEndian ? bytes : bytes.reversed() }
        func field(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
            number(u16(tag)) + number(u16(type)) + number(u32(count)) + value
        }
        let list = 8 + 2 + 3 * 12 + 4
        let head: [UInt8] = isBigEndian ? [0x4D, 0x4D, 0, 42] : [0x49, 0x49, 42, 0]
        let directory =
            number(u16(3)) + field(0xB000, 7, 4, Array("0100".utf8))
            + field(0xB001, 4, 1, number(u32(count ?? entries.count)))
            + field(0xB002, 7, entries.count * 16, number(u32(list))) + number(u32(0))
        let images = entries.enumerated().flatMap { index, entry -> [UInt8] in
            number(u32(index < kinds.count ? kinds[index] : 0)) + number(u32(entry.size)) + number(u32(entry.offset))
                + [0, 0, 0, 0]
        }
        return make(0xE2, "MPF\0", head + number(u32(8)) + directory + images)
    }
}
