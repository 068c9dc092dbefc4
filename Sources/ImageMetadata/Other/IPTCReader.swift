/// Reads IPTC metadata: a stream of datasets, also within Photoshop image resources.
///
///     0x1C | record 1 | dataset 1 | length 2 | data
///
/// - Source: IPTC-NAA IIM 4.2 chapter 3; Adobe Photoshop file formats, "Image resource blocks".
enum IPTCReader {
    private enum Kind { case text, list, number, date, time }

    private static let names: [Int: (name: String, kind: Kind)] = [
        0: ("ApplicationRecordVersion", .number), 3: ("ObjectTypeReference", .text),
        4: ("ObjectAttributeReference", .list),
        5: ("ObjectName", .text), 7: ("EditStatus", .text), 10: ("Urgency", .text), 12: ("SubjectReference", .list),
        15: ("Category", .text), 20: ("SupplementalCategories", .list), 22: ("FixtureIdentifier", .text),
        25: ("Keywords", .list), 26: ("ContentLocationCode", .list), 27: ("ContentLocationName", .list),
        30: ("ReleaseDate", .date), 35: ("ReleaseTime", .time), 40: ("SpecialInstructions", .text),
        55: ("DateCreated", .date), 60: ("TimeCreated", .time), 62: ("DigitalCreationDate", .date),
        63: ("DigitalCreationTime", .time), 65: ("OriginatingProgram", .text), 70: ("ProgramVersion", .text),
        80: ("By-line", .list), 85: ("By-lineTitle", .list), 90: ("City", .text), 92: ("Sub-location", .text),
        95: ("Province-State", .text), 100: ("Country-PrimaryLocationCode", .text),
        101: ("Country-PrimaryLocationName", .text), 103: ("OriginalTransmissionReference", .text),
        105: ("Headline", .text), 110: ("Credit", .text), 115: ("Source", .text), 116: ("CopyrightNotice", .text),
        118: ("Contact", .list), 120: ("Caption-Abstract", .text), 122: ("Writer-Editor", .list),
        131: ("ImageOrientation", .text), 135: ("LanguageIdentifier", .text),
    ]

    static func read(_ bytes: [UInt8]) -> [MetadataTag] {
        let stream = record(in: bytes)
        var isUTF8 = false
        var tags: [MetadataTag] = []
        var hasCharacterSet = false
        var lists: [Int: Int] = [:]
        for set in datasets(stream) {
            if set.record == 1, set.number == 90, !hasCharacterSet {
                hasCharacterSet = true
                isUTF8 = stream[set.data].elementsEqual([0x1B, 0x25, 0x47])
                tags.append(
                    MetadataTag("IPTC", "CodedCharacterSet", .text(isUTF8 ? "UTF8" : Texts.decoded(stream[set.data]))))
            }
            guard set.record == 2, let known = names[set.number] else { continue }
            let data = stream[set.data].prefix(Texts.maxBytes)
            if known.kind == .number {
                let number = data.prefix(4).reduce(0) { $0 << 8 | Int($1) }
                tags.append(MetadataTag("IPTC", known.name, .integer(number)))
                continue
            }
            var text = isUTF8 ? String(decoding: data, as: UTF8.self) : Texts.latin(data)
            if known.kind == .date || known.kind == .time { text = formatted(text, known.kind) }
            if known.kind == .list, let index = lists[set.number] {
                tags[index].append(text)
            } else {
                lists[set.number] = tags.count
                tags.append(MetadataTag("IPTC", known.name, .text(text)))
            }
            if tags.count >= MetadataTag.maxCount { break }
        }
        return tags
    }

    /// Returns the datasets of the records, up to the first damaged one.
    static func datasets(_ stream: ArraySlice<UInt8>) -> [(record: Int, number: Int, data: Range<Int>)] {
        var result: [(record: Int, number: Int, data: Range<Int>)] = []
        var place = stream.startIndex
        while place <= stream.endIndex - 5, stream[place] == 0x1C, result.count < MetadataTag.maxCount {
            var size = Int(stream[place + 3]) << 8 | Int(stream[place + 4])
            var start = place + 5
            if size & 0x8000 != 0 {
                // An extended dataset: the length has this many bytes.
                let count = size & 0x7FFF
                guard count <= 4, start <= stream.endIndex - count else { break }
                size = stream[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
                start += count
            }
            guard size <= stream.endIndex - start else { break }
            result.append((Int(stream[place + 1]), Int(stream[place + 2]), start..<start + size))
            place = start + size
        }
        return result
    }

    /// Returns the datasets within image resources, or all bytes if there are none.
    static func record(in bytes: [UInt8]) -> ArraySlice<UInt8> {
        let head = Array("Photoshop 3.0".utf8) + [0]
        var place = bytes.starts(with: head) ? head.count : 0
        let mark = Array("8BIM".utf8)
        while place <= bytes.count - 12, bytes[place..<place + 4].elementsEqual(mark) {
            let id = Int(bytes[place + 4]) << 8 | Int(bytes[place + 5])
            // A name with its length, padded to an even count.
            let name = (Int(bytes[place + 6]) + 2) & ~1
            let at = place + 6 + name
            guard at <= bytes.count - 4 else { break }
            let size = bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
            guard size <= bytes.count - at - 4 else { break }
            if id == 0x0404 { return bytes[at + 4..<at + 4 + size] }
            place = at + 4 + size + size % 2
        }
        return bytes[...]
    }

    /// Returns `20081030` as `2008:10:30`, and `143059+0100` as `14:30:59+01:00`.
    private static func formatted(_ text: String, _ kind: Kind) -> String {
        let digits = Array(text.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: digits[range], as: UTF8.self) }
        let isNumber = digits.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2B || $0 == 0x2D }
        if kind == .date, digits.count == 8, isNumber { return "\(part(0..<4)):\(part(4..<6)):\(part(6..<8))" }
        guard kind == .time, digits.count == 6 || digits.count == 11, isNumber else { return text }
        let time = "\(part(0..<2)):\(part(2..<4)):\(part(4..<6))"
        return digits.count == 6 ? time : time + "\(part(6..<9)):\(part(9..<11))"
    }
}

extension MetadataTag {
    /// Appends an element to a list, in constant time: a hostile file repeats a value thousands of times.
    mutating func append(_ element: String) {
        var texts: [String]
        if case .list(let earlier) = value {
            texts = earlier
        } else {
            texts = [value.plain]
            text = value.plain
        }
        // The array has one owner again, so that it is not copied.
        value = .integer(0)
        texts.append(element)
        value = .list(texts)
        text += ", " + element
    }
}
