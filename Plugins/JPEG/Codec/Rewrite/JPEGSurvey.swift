import CoderPluginKit
import ImageModel

/// The facts of a file for planning a rewrite; of bounded size for any number of segments.
struct JPEGSurvey {
    /// The size in the frame header.
    private(set) var size = PixelSize.zero
    /// The position of the first scan.
    private(set) var scans = 0
    /// The position behind the end marker.
    private(set) var end = 0
    /// The bytes of all metadata segments.
    private(set) var metadataBytes = 0
    /// Whether there is metadata behind the first scan.
    private(set) var hasLateMetadata = false
    private(set) var leading = Leading()
    /// Whether the JFIF segments have a thumbnail.
    private(set) var hasThumbnail = false
    /// The index of further images.
    private(set) var multiPicture: JPEGSegment?
    /// The first XMP packet.
    private(set) var packet: Range<Int>?
    /// Photoshop image resources, in the order of their segments.
    private(set) var resources: [Range<Int>] = []

    /// The segments before the first table.
    struct Leading {
        /// The start of the first segment of each rank.
        fileprivate(set) var first: [Int?] = Array(repeating: nil, count: JPEGContent.rankCount)
        /// The end of the last segment of each rank.
        fileprivate(set) var last: [Int] = Array(repeating: 2, count: JPEGContent.rankCount)
    }

    /// A JFIF segment without a thumbnail.
    private static let jfifBody = 14
    /// The maximum bytes of Photoshop resources; Photoshop needs one segment per 64 KiB.
    private static let maxResources = 1024

    /// Walks through the whole image.
    ///
    /// - Throws: `.notMine`, `.truncated`, `.corrupt`, `.cancelled`.
    init(_ source: JPEGSource, _ host: HostServices) throws(CoderError) {
        guard source.count >= 2 else { throw .truncated() }
        guard try source.begins(0..<2, with: [0xFF, 0xD8]) else { throw .notMine() }
        var walk = JPEGWalk(source, host, at: 2)
        var isLeading = true
        while end == 0 {
            switch try walk.next() {
            case .bytes: break
            case .end(let bytes): end = bytes.upperBound
            case .segment(let segment):
                let content = try JPEGContent(segment, source)
                if segment.isMetadata {
                    note(segment, content, isLeading)
                } else {
                    isLeading = false
                    try note(segment, source)
                }
            }
        }
        if scans == 0 { throw .corrupt("the image has no scan") }
        if size.isEmpty { throw .corrupt("invalid image size \(size)") }
    }

    private mutating func note(_ segment: JPEGSegment, _ content: JPEGContent, _ isLeading: Bool) {
        metadataBytes += segment.bytes.count
        if scans > 0 { hasLateMetadata = true }
        if isLeading, let rank = content.rank {
            leading.first[rank] = leading.first[rank] ?? segment.bytes.lowerBound
            leading.last[rank] = segment.bytes.upperBound
        }
        switch content {
        case .multiPicture where multiPicture == nil: multiPicture = segment
        case .jfifExtension: hasThumbnail = true
        case .jfif where segment.body.count > Self.jfifBody: hasThumbnail = true
        case .xmp where packet == nil:
            packet = segment.body.dropFirst(JPEGContent.Name.xmp.count)
        case .resources where resources.count < Self.maxResources:
            resources.append(segment.body.dropFirst(JPEGContent.Name.resources.count))
        default: break
        }
    }

    /// Frame headers: `FF C0 len | precision 1 | height 2 | width 2 | …`; behind a first scan `FF DC 0004 | height 2`.
    ///
    /// - Source: ITU-T T.81 B.2.2, B.2.5.
    private mutating func note(_ segment: JPEGSegment, _ source: JPEGSource) throws(CoderError) {
        let start = segment.body.lowerBound
        switch segment.marker {
        case 0xDA:
            if size.width == 0 { throw .corrupt("a scan begins before the frame header", at: segment.bytes.lowerBound) }
            if scans == 0 { scans = segment.bytes.lowerBound }
        case 0xDC where size.height == 0 && segment.body.count >= 2:
            size.height = try source.u16(start)
        case 0xC4, 0xC8, 0xCC: break
        case 0xC0...0xCF, 0xDE, 0xF7:
            guard segment.body.count >= 6 else { throw .corrupt("a frame header is too short") }
            if size.width == 0 { size = PixelSize(try source.u16(start + 3), try source.u16(start + 1)) }
        default: break
        }
    }
}
