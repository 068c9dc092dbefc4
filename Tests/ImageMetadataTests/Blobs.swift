/// Builds the metadata that tests read.
enum Blobs {
    /// A field of a directory: tag, type, count, and the value or more bytes than fit in the field.
    typealias Field = (tag: Int, type: Int, count: Int, value: [UInt8])

    static func bytes(_ value: Int, _ count: Int, isBigEndian: Bool) -> [UInt8] {
        let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return isBigEndian ? little.reversed() : little
    }

    /// Returns an Exif blob with IFD0, and with an Exif and a GPS directory if they have fields.
    static func exif(
        _ main: [Field], exif: [Field] = [], gps: [Field] = [], isBigEndian: Bool = false
    ) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] { bytes(value, count, isBigEndian: isBigEndian) }
        var blob = (isBigEndian ? [0x4D, 0x4D] : [0x49, 0x49]) + number(42, 2) + number(8, 4)
        var fields = main
        if !exif.isEmpty { fields.append((0x8769, 4, 1, [])) }
        if !gps.isEmpty { fields.append((0x8825, 4, 1, [])) }
        var pointers: [Int: Int] = [:]
        func append(_ fields: [Field], to blob: inout [UInt8]) {
            let start = blob.count
            var values: [UInt8] = []
            blob += number(fields.count, 2)
            let end = start + 2 + fields.count * 12 + 4
            for field in fields {
                blob += number(field.tag, 2) + number(field.type, 2) + number(field.count, 4)
                if field.value.isEmpty { pointers[field.tag] = blob.count }
                if field.value.count <= 4 {
                    blob += field.value + [UInt8](repeating: 0, count: 4 - field.value.count)
                } else {
                    blob += number(end + values.count, 4)
                    values += field.value + [UInt8](repeating: 0, count: field.value.count % 2)
                }
            }
            blob += number(0, 4) + values
        }
        append(fields, to: &blob)
        for (tag, directory) in [(0x8769, exif), (0x8825, gps)] where !directory.isEmpty {
            guard let place = pointers[tag] else { continue }
            blob.replaceSubrange(place..<place + 4, with: number(blob.count, 4))
            append(directory, to: &blob)
        }
        return blob
    }

    static func text(_ tag: Int, _ text: String) -> Field { (tag, 2, text.utf8.count + 1, Array(text.utf8) + [0]) }

    static func ratios(_ tag: Int, _ pairs: [(Int, Int)], isSigned: Bool = false, isBigEndian: Bool = false) -> Field {
        let value = pairs.flatMap {
            bytes($0.0, 4, isBigEndian: isBigEndian) + bytes($0.1, 4, isBigEndian: isBigEndian)
        }
        return (tag, isSigned ? 10 : 5, pairs.count, value)
    }

    static func short(_ tag: Int, _ value: Int, isBigEndian: Bool = false) -> Field {
        (tag, 3, 1, bytes(value, 2, isBigEndian: isBigEndian))
    }

    /// The fields of a photo, for tests that damage them.
    static func photo(isBigEndian: Bool) -> [UInt8] {
        exif(
            [
                text(0x10F, "Canon"), text(0x110, "EOS 90D"), short(0x112, 6, isBigEndian: isBigEndian),
                text(0x8298, "(c) Ann"),
            ],
            exif: [
                ratios(0x829A, [(1, 125)], isBigEndian: isBigEndian),
                ratios(0x829D, [(28, 10)], isBigEndian: isBigEndian),
                short(0x8827, 200, isBigEndian: isBigEndian), text(0x9003, "2024:05:06 07:08:09"),
                ratios(0x9204, [(-1, 3)], isSigned: true, isBigEndian: isBigEndian),
                short(0x9209, 25, isBigEndian: isBigEndian), ratios(0x920A, [(35, 1)], isBigEndian: isBigEndian),
                ratios(0xA432, [(18, 1), (55, 1), (35, 10), (56, 10)], isBigEndian: isBigEndian),
            ],
            gps: [
                text(1, "N"), ratios(2, [(48, 1), (51, 1), (2960, 100)], isBigEndian: isBigEndian), text(3, "W"),
                ratios(4, [(2, 1), (17, 1), (4020, 100)], isBigEndian: isBigEndian), (5, 1, 1, [1]),
                ratios(6, [(355, 10)], isBigEndian: isBigEndian),
                ratios(7, [(5, 1), (8, 1), (925, 100)], isBigEndian: isBigEndian),
            ], isBigEndian: isBigEndian)
    }

    static let packet = """
        <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
        <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Test 1"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:p="http://ns.adobe.com/photoshop/1.0/"
          xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:mm="http://ns.adobe.com/xap/1.0/mm/" p:City="Paris &amp; Lyon">
        <dc:title><rdf:Alt><rdf:li xml:lang="x-default">Tower</rdf:li><rdf:li xml:lang="de">Turm</rdf:li></rdf:Alt></dc:title>
        <dc:subject><rdf:Bag><rdf:li>paris</rdf:li><rdf:li>tower</rdf:li></rdf:Bag></dc:subject>
        <exif:FNumber>28/10</exif:FNumber><exif:GPSLatitude>48,51.4933N</exif:GPSLatitude>
        <exif:DateTimeOriginal>2024-05-06T07:08:09+02:00</exif:DateTimeOriginal>
        <mm:DerivedFrom rdf:parseType="Resource"><mm:instanceID>abc</mm:instanceID></mm:DerivedFrom>
        <p:Headline><![CDATA[a < b]]> &#x26; c</p:Headline>
        </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
        """

    /// IPTC datasets of record 2.
    static func iptc(_ sets: [(number: UInt8, text: String)], isUTF8: Bool = true) -> [UInt8] {
        var blob: [UInt8] = isUTF8 ? [0x1C, 1, 90, 0, 3, 0x1B, 0x25, 0x47] : []
        for set in sets {
            let data =
                isUTF8 ? Array(set.text.utf8) : set.text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
            blob += [0x1C, 2, set.number, UInt8(data.count >> 8), UInt8(data.count & 255)] + data
        }
        return blob
    }
}
