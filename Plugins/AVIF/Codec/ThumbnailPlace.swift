internal import CoderPluginKit
internal import ImageModel

/// Where a file says which of its items is a thumbnail of the one to show.
///
///     meta ─┬─ pitm          item 1 is the one to show
///           ├─ iinf ── infe  item 2 is of type av01
///           └─ iref ── thmb  item 2 is a thumbnail of item 1
///
/// libavif 0.11 knows such items only to pass them over. Shown another number in `pitm`, and another type in the place
/// of `thmb`, it takes one for the picture itself.
///
/// - Source: ISO/IEC 23008-12:2022 section 6.4.5 (`thmb`); ISO/IEC 14496-12:2022 sections 8.11.4, 8.11.6, 8.11.12.
struct ThumbnailPlace {
    /// What libavif has to see differently: places in the file, and what seems to stand there.
    let changes: [(place: Int, bytes: [UInt8])]

    /// A `meta` box of a picture is far smaller; a larger one is not looked through.
    private static let largestMeta = 1 << 20
    /// The host takes no more.
    private static let most = 16

    static func all(in source: ByteSource) -> [ThumbnailPlace] {
        guard let box = Container.range(of: "meta", in: source), box.count <= largestMeta,
            box.upperBound <= source.available
        else { return [] }
        let bytes = source.bytes(box)
        // Version and flags come first.
        var cursor = BoxCursor(bytes)
        guard cursor.skip(4), let shown = primary(cursor), let list = cursor.first("iref") else { return [] }
        let coded = codedItems(cursor)
        var found: [ThumbnailPlace] = []
        var references = list
        guard let version = references.uint(4).map({ $0 >> 24 }), version < 2 else { return [] }
        let width = version == 0 ? 2 : 4
        while found.count < most, let reference = references.box() {
            guard reference.type == Box.type("thmb") else { continue }
            var inside = references.inside(reference)
            guard let item = inside.uint(width), let count = inside.uint(2), item != shown.item, coded.contains(item)
            else { continue }
            let targets = (0..<count).map { _ in inside.uint(width) }
            guard targets.contains(shown.item), shown.width == 4 || item <= 0xFFFF else { continue }
            let number = (0..<shown.width).map { UInt8(truncatingIfNeeded: item >> UInt64(8 * (shown.width - 1 - $0))) }
            found.append(
                ThumbnailPlace(changes: [
                    (box.lowerBound + shown.place, number),
                    (box.lowerBound + reference.payload.lowerBound - 4, Array("skip".utf8)),
                ]))
        }
        return found
    }

    private static func primary(_ meta: BoxCursor) -> (item: UInt64, place: Int, width: Int)? {
        guard var box = meta.first("pitm"), let version = box.uint(4).map({ $0 >> 24 }) else { return nil }
        let width = version == 0 ? 2 : 4
        let place = box.offset
        return box.uint(width).map { ($0, place, width) }
    }

    /// The items that are AV1 streams; a grid for a thumbnail is left to others.
    private static func codedItems(_ meta: BoxCursor) -> Set<UInt64> {
        guard var list = meta.first("iinf"), let version = list.uint(4).map({ $0 >> 24 }),
            list.uint(version == 0 ? 2 : 4) != nil
        else { return [] }
        var items: Set<UInt64> = []
        while let box = list.box() {
            guard box.type == Box.type("infe") else { continue }
            var entry = list.inside(box)
            guard let version = entry.uint(4).map({ $0 >> 24 }), version == 2 || version == 3,
                let item = entry.uint(version == 2 ? 2 : 4), entry.uint(2) == 0,
                entry.uint(4) == UInt64(Box.type("av01"))
            else { continue }
            items.insert(item)
        }
        return items
    }
}
