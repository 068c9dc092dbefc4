internal import ISOBoxes

/// Embeds an image that was coded as a separate file into another file, as the thumbnail of that file's image.
///
///     ftyp  meta ─┬─ pitm                               mdat   mdat
///                 ├─ iloc  … position of its data       the data, in front of all other data
///                 ├─ iinf  … infe: its number and type
///                 ├─ iref  … thmb: its main image
///                 └─ iprp ─┬─ ipco  … its properties
///                          └─ ipma  … indices of its properties
///
/// libavif 0.11 writes no thumbnails. It writes both files, so their boxes have a known form; files of another form
/// stay unchanged.
///
/// - Source: ISO/IEC 14496-12:2022 section 8.11; ISO/IEC 23008-12:2022 sections 6.4.5, 9.3.
struct ThumbnailItem {
    /// The coded stream.
    private let data: [UInt8]
    /// Complete boxes, in their order.
    private let properties: [UInt8]
    private let propertyCount: Int
    /// Property numbers from 1; the highest bit marks an essential property.
    private let associations: [UInt8]

    /// - Parameter file: a still image written by libavif.
    init?(file: [UInt8]) {
        guard let meta = Self.meta(of: file), let boxes = meta.first("iprp", "ipco"),
            let extent = Self.extents(of: meta).first, extent.count > 0, extent.upperBound <= file.count,
            let own = Self.associations(in: meta)
        else { return nil }
        data = Array(file[extent])
        properties = Array(boxes.bytes[boxes.offset..<boxes.end])
        associations = own
        var cursor = boxes
        var count = 0
        while cursor.nextBox() != nil { count += 1 }
        propertyCount = count
    }

    /// Adds the thumbnail to the boxes in front of the data; false if that is impossible.
    ///
    /// - Parameter count: the size of the data, with the headers of its boxes.
    func insert(into boxes: inout [UInt8], before count: Int) -> Bool {
        var editor = BoxEditor(bytes: boxes)
        guard let meta = Self.meta(of: boxes), var primary = meta.first("pitm"), primary.skips(4),
            let shown = primary.number(2), var items = meta.first("iinf"), items.skips(4), let known = items.number(2),
            var list = meta.first("iprp", "ipco"), let places = editor.placesOfOffsets, !places.isEmpty
        else { return false }
        var before = 0
        while list.nextBox() != nil { before += 1 }
        // A property number has seven bits, a file offset 32.
        guard before + propertyCount <= 127, known < 0xFFFF, boxes.count + count + data.count < 1 << 31 else {
            return false
        }
        let id = Self.highest(in: items) + 1
        guard id <= 0xFFFF else { return false }
        // In front of the image: a viewer of a growing file can show it first.
        let own = Self.box("mdat", data)
        // Below, all offsets grow by the new boxes and by this box, which is in front of all data except its own.
        let start = UInt64(bitPattern: Int64(boxes.count + 8 - own.count))
        let location = Self.number(id, 2) + [0, 0, 0, 1] + Self.number(start, 4) + Self.number(UInt64(data.count), 4)
        let entry = Self.box("infe", [2, 0, 0, 0] + Self.number(id, 2) + [0, 0] + Array("av01".utf8) + [0])
        let reference = Self.box("thmb", Self.number(id, 2) + [0, 1] + Self.number(shown, 2))
        let numbers = associations.map { $0 & 0x80 | ($0 & 0x7F) + UInt8(before) }
        let association = Self.number(id, 2) + [UInt8(numbers.count)] + numbers
        let isDone =
            editor.append(location, to: "meta", "iloc", countAt: 6, of: 2)
            && editor.append(entry, to: "meta", "iinf", countAt: 4, of: 2)
            && (editor.append(reference, to: "meta", "iref")
                || editor.append(Self.box("iref", [0, 0, 0, 0] + reference), to: "meta"))
            && editor.append(properties, to: "meta", "iprp", "ipco")
            && editor.append(association, to: "meta", "iprp", "ipma", countAt: 4, of: 4)
        let growth = editor.bytes.count + own.count - boxes.count
        guard isDone, let moved = editor.placesOfOffsets, moved.count == places.count + 1 else { return false }
        for place in moved { editor.add(growth, at: place) }
        boxes = editor.bytes + own
        return true
    }

    // MARK: Reading libavif's output

    private static func meta(of file: [UInt8]) -> BoxCursor? {
        guard var meta = BoxCursor(file).first("meta"), meta.skips(4) else { return nil }
        return meta
    }

    /// Version 0, four bytes of offset and of length, one extent each.
    private static func extents(of meta: BoxCursor) -> [Range<Int>] {
        guard var list = meta.first("iloc"), list.number(4) == 0, list.number(2) == 0x4400, let count = list.number(2)
        else {
            return []
        }
        var found: [Range<Int>] = []
        for _ in 0..<count {
            guard list.skips(4), list.number(2) == 1, let start = list.number(4), let length = list.number(4) else {
                return []
            }
            found.append(Int(start)..<Int(start + length))
        }
        return found
    }

    /// The properties of the first item; version 0, one byte each.
    private static func associations(in meta: BoxCursor) -> [UInt8]? {
        guard var box = meta.first("iprp", "ipma"), box.number(4) == 0, let entries = box.number(4), entries >= 1,
            box.skips(2), let count = box.number(1)
        else { return nil }
        let own = (0..<count).compactMap { _ in box.number(1).map { UInt8($0) } }
        return own.count == Int(count) ? own : nil
    }

    private static func highest(in items: BoxCursor) -> UInt64 {
        var items = items
        var highest: UInt64 = 0
        while let box = items.nextBox() {
            var entry = items.inside(box)
            if entry.skips(4), let id = entry.number(2) { highest = max(highest, id) }
        }
        return highest
    }

    private static func number(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }

    private static func box(_ type: StaticString, _ payload: [UInt8]) -> [UInt8] {
        number(UInt64(payload.count + 8), 4) + Array("\(type)".utf8) + payload
    }
}
