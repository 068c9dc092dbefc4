import CoderPluginKit
import ImageModel

/// The index of further images behind the first: previews, gain maps, other views.
///
///     FF E2 len "MPF\0" | II*\0 offset | … B001: number of images | B002: entries of 16 bytes | …
///     entry             | attribute 4 | size 4 | offset 4 | dependent images 2 + 2
///                       ^ offsets count from the byte order mark; that of the first image is 0
///
/// Decoding and rewriting read it by the same strict rules: an index that breaks one of them has no images. Both tolerate
/// that all images moved by the same distance, as when a program added metadata in front of the index.
///
/// - Source: CIPA DC-007-2021 sections 5.1 and 5.2.
struct MultiPictureIndex {
    /// One of the further images.
    struct Image {
        let kind: Kind
        /// Its range in the file.
        let bytes: Range<Int>
    }

    /// The MP type code of an image.
    ///
    /// - Source: CIPA DC-007-2021 section 5.2.3.3.1.
    enum Kind: Hashable {
        case primary
        case largeThumbnail
        /// A part of a panorama or one of several views.
        case multiFrame
        /// Undefined or unknown.
        case other

        fileprivate init(attribute: Int) {
            switch attribute & 0xFF_FFFF {
            case 0x03_0000: self = .primary
            case 0x01_0001...0x01_FFFF: self = .largeThumbnail
            case 0x02_0001...0x02_FFFF: self = .multiFrame
            default: self = .other
            }
        }
    }

    private struct Entry {
        /// Its position in the TIFF structure.
        let place: Int
        let kind: Kind
        let size: Int
        let offset: Int

        var isUsed: Bool { size > 0 || offset > 0 }
    }

    private let segment: [UInt8]
    private let entries: [Entry]
    private let isBigEndian: Bool
    /// The base of offsets, in the file.
    private let base: Int

    /// The base of offsets, in the segment.
    static let header = 8
    private static let entrySize = 16
    private static let countTag = 0xB001
    private static let entriesTag = 0xB002

    /// Reads the entries of the segment at `range`; a segment has room for a few thousand.
    ///
    /// - Throws: `.corrupt` for an inconsistent index, `.inputOutput`.
    init(at range: Range<Int>, _ source: JPEGSource) throws(CoderError) {
        segment = try source.bytes(range)
        base = range.lowerBound + Self.header
        guard let tiff = TIFFStructure(Array(segment.dropFirst(Self.header))),
            let field = tiff.field(Self.entriesTag, in: tiff.first)
        else { throw Self.damaged("it has no list of images", at: base) }
        let list = tiff.long(at: field.place)
        let room = segment.count - Self.header
        guard field.count > 0, field.count % Self.entrySize == 0, list >= 8, field.count <= room,
            list <= room - field.count
        else { throw Self.damaged("its list of \(field.count) bytes does not fit", at: base) }
        let count = field.count / Self.entrySize
        if let stated = tiff.number(Self.countTag, in: tiff.first), stated != count {
            throw Self.damaged("it declares \(stated) images and lists \(count)", at: base)
        }
        isBigEndian = tiff.isBigEndian
        entries = stride(from: list, to: list + field.count, by: Self.entrySize).map { place in
            Entry(
                place: place, kind: Kind(attribute: tiff.long(at: place)), size: tiff.long(at: place + 4),
                offset: tiff.long(at: place + 8))
        }
        if entries[0].offset != 0 { throw Self.damaged("its first entry is not the first image", at: base) }
    }

    /// The kind of the first image.
    var firstKind: Kind { entries[0].kind }

    /// Whether the index lists further images.
    var hasFurther: Bool { entries.dropFirst().contains { $0.isUsed } }

    /// Returns the further images in the order of the index. Each begins like a JPEG file, and no two overlap.
    ///
    /// - Parameters:
    ///   - end: the end of the first image; if unknown, any position in its first scan.
    ///   - moved: the distance by which the images moved since the index was written.
    /// - Throws: `.corrupt` if an entry does not refer to such an image, `.inputOutput`.
    func images(behind end: Int, movedBy moved: Int = 0, _ source: JPEGSource) throws(CoderError) -> [Image] {
        var images: [Image] = []
        for (number, entry) in entries.enumerated().dropFirst() where entry.isUsed {
            let start = base + entry.offset + moved
            guard entry.size >= 4, start >= end, start <= source.count, entry.size <= source.count - start,
                try source.begins(start..<start + entry.size, with: [0xFF, 0xD8])
            else { throw Self.damaged("image \(number) is not at its position", at: start) }
            images.append(Image(kind: entry.kind, bytes: start..<start + entry.size))
        }
        let places = images.map(\.bytes).sorted { $0.lowerBound < $1.lowerBound }
        for (place, next) in zip(places, places.dropFirst()) where next.lowerBound < place.upperBound {
            throw Self.damaged("two images overlap", at: next.lowerBound)
        }
        return images
    }

    /// Returns the further images of a stale index: all of them moved by the same distance. Nil if they are not there.
    ///
    /// - Parameter end: as for ``images(behind:movedBy:_:)``. Compressed data contains no start of an image.
    func movedImages(behind end: Int, _ source: JPEGSource) throws(CoderError) -> [Image]? {
        guard let distance = try distance(behind: end, source) else { return nil }
        do throws(CoderError) {
            return try images(behind: end, movedBy: distance, source)
        } catch {
            guard error.code == .corrupt else { throw error }
            return nil
        }
    }

    /// Returns the distance by which the images moved, if their first one begins at the next start of an image.
    private func distance(behind end: Int, _ source: JPEGSource) throws(CoderError) -> Int? {
        guard let first = entries.dropFirst().filter(\.isUsed).map(\.offset).min() else { return nil }
        var place = end
        while place + 3 <= source.count {
            place += try source.bytesBeforeMarker(place..<min(source.count, place + JPEGSource.windowCount))
            if place + 3 <= source.count, try source.begins(place..<place + 3, with: [0xFF, 0xD8, 0xFF]) {
                return place - base - first
            }
            place += 1
        }
        return nil
    }

    /// Returns the segment for a file in which its offsets count from `newBase` and the first image ends at `newEnd`.
    /// The bytes behind that end are unchanged. Nil if an offset does not fit its field.
    ///
    /// - Parameters:
    ///   - end: the end of the first image before the change.
    ///   - images: the further images, at their positions before the change; one for each used entry.
    func moved(base newBase: Int, from end: Int, to newEnd: Int, _ images: [Image]) -> [UInt8]? {
        var result = segment
        var rest = images[...]
        for (number, entry) in entries.enumerated() {
            if number == 0 {
                // The first image may include padding behind it.
                let padding = entry.size - end
                let room = (images.map(\.bytes.lowerBound).min() ?? end) - end
                let new = newEnd + ((0...room).contains(padding) ? padding : 0)
                guard put(new, at: entry.place + 4, into: &result) else { return nil }
            } else if entry.isUsed, let image = rest.popFirst() {
                let new = image.bytes.lowerBound - end + newEnd - newBase
                guard put(new, at: entry.place + 8, into: &result) else { return nil }
            }
        }
        return result
    }

    private func put(_ value: Int, at place: Int, into bytes: inout [UInt8]) -> Bool {
        guard let value = UInt32(exactly: value) else { return false }
        for index in 0..<4 {
            let shift = 8 * (isBigEndian ? 3 - index : index)
            bytes[Self.header + place + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
        return true
    }

    private static func damaged(_ reason: String, at place: Int) -> CoderError {
        .corrupt("the index of further images (MPF) is damaged: \(reason)", at: place)
    }
}
