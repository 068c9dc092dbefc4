import CoderPluginKit
import ImageModel

/// The index of further images that stand behind the first: previews, gain maps, other views.
///
///     FF E2 len "MPF\0" | II*\0 offset | … B001: number of images | B002: entries of 16 bytes | …
///     entry             | attribute 4 | size 4 | offset 4 | dependent images 2 + 2
///                       ^ offsets count from the byte order mark; that of the first image is 0
///
/// - Source: CIPA DC-007-2021 sections 5.1 and 5.2.
struct MultiPictureIndex {
    /// Where the further images stand in the file, in the order of the index.
    let images: [Range<Int>]
    private let segment: [UInt8]
    /// Where each entry stands in the segment.
    private let entries: [Int]
    private let tiff: TIFFStructure
    /// Where offsets count from in the file.
    private let base: Int
    /// Where the first image ends in the file.
    private let end: Int

    /// Where offsets count from in the segment.
    static let header = 8
    private static let entrySize = 16
    private static let entriesTag = 0xB002

    /// The index in a segment; nil unless it is sound and all its images are JPEG files behind the end of the first.
    init?(_ segment: JPEGSegment, end: Int, _ source: JPEGSource) throws(CoderError) {
        let bytes = try source.bytes(segment.bytes)
        guard let tiff = TIFFStructure(Array(bytes[Self.header...])),
            let field = tiff.field(Self.entriesTag, in: tiff.first), field.count > 0, field.count % Self.entrySize == 0
        else { return nil }
        let list = tiff.long(at: field.place)
        guard list >= 8, field.count <= bytes.count - Self.header, list <= bytes.count - Self.header - field.count
        else { return nil }
        self.segment = bytes
        self.tiff = tiff
        self.end = end
        base = segment.bytes.lowerBound + Self.header
        entries = Array(stride(from: list, to: list + field.count, by: Self.entrySize))

        var images: [Range<Int>] = []
        for (index, entry) in entries.enumerated() {
            let (size, offset) = (tiff.long(at: entry + 4), tiff.long(at: entry + 8))
            if index == 0 {
                guard offset == 0 else { return nil }
                continue
            }
            // An entry that is not used.
            if size == 0, offset == 0 { continue }
            let start = base + offset
            guard size >= 4, start >= end, start + size <= source.count,
                try source.begins(start..<start + size, with: [0xFF, 0xD8])
            else { return nil }
            images.append(start..<start + size)
        }
        self.images = images
    }

    /// The segment for a file in which its own offsets count from `base` and the first image ends at `end`; what stands
    /// behind that end is as it was. Nil where an offset does not fit into its field.
    func moved(base newBase: Int, end newEnd: Int) -> [UInt8]? {
        var result = segment
        for (index, entry) in entries.enumerated() {
            let (size, offset) = (tiff.long(at: entry + 4), tiff.long(at: entry + 8))
            if index == 0 {
                // Padding behind the first image may count as a part of it.
                let padding = size - end
                let room = (images.map(\.lowerBound).min() ?? end) - end
                let new = newEnd + ((0...room).contains(padding) ? padding : 0)
                guard put(new, at: entry + 4, into: &result) else { return nil }
            } else if size > 0 || offset > 0 {
                guard put(base + offset - end + newEnd - newBase, at: entry + 8, into: &result) else { return nil }
            }
        }
        return result
    }

    private func put(_ value: Int, at place: Int, into bytes: inout [UInt8]) -> Bool {
        guard let value = UInt32(exactly: value) else { return false }
        for index in 0..<4 {
            let shift = 8 * (tiff.isBigEndian ? 3 - index : index)
            bytes[Self.header + place + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
        return true
    }
}
