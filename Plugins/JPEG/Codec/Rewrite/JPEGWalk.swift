import CoderPluginKit
import ImageModel

/// A marker with a length: `FF marker`, two bytes of length, the body.
struct JPEGSegment {
    var marker: UInt8
    /// The whole segment.
    var bytes: Range<Int>

    var body: Range<Int> { bytes.lowerBound + 4..<bytes.upperBound }

    /// Whether it is metadata: APP0 … APP15 or a comment.
    var isMetadata: Bool { marker & 0xF0 == 0xE0 || marker == 0xFE }

    /// The maximum length of a body.
    static let maxBody = 65_533

    /// Makes the segment of a body of at most ``maxBody`` bytes.
    static func make(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        let length = body.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }
}

/// Walks over the markers of a file up to the end of the image, without decoding.
///
///     FF D8 | FF E1 len body | FF C0 len body | FF DA len body | data FF 00 data FF D0 data | … | FF D9
///
/// - Source: ITU-T T.81 B.1.1.
struct JPEGWalk {
    enum Part {
        case segment(JPEGSegment)
        /// Compressed data, fill bytes, or bytes outside of segments; possibly only a part of them.
        case bytes(Range<Int>)
        /// The bytes of the end marker.
        case end(Range<Int>)
    }

    private let source: JPEGSource
    private let host: HostServices
    private(set) var offset: Int
    private var steps = 0

    /// The number of parts between two polls.
    private static let pollInterval = 64

    /// Begins at a marker, or behind one.
    init(_ source: JPEGSource, _ host: HostServices, at offset: Int) {
        self.source = source
        self.host = host
        self.offset = offset
    }

    /// Returns the next part; do not call it after the end.
    ///
    /// - Throws: `.truncated` if the file ends before the image does, `.corrupt`, `.cancelled`.
    mutating func next() throws(CoderError) -> Part {
        if steps % Self.pollInterval == 0 { try host.checkCancellation() }
        steps += 1
        let start = offset
        let window = start..<min(source.count, start + JPEGSource.windowCount)
        guard window.count >= 2 else { throw Self.truncated }
        let isData = try source.byte(start) == 0xFF ? try source.bytesBeforeMarker(start..<start + 2) > 0 : true
        if isData {
            offset += max(1, try source.bytesBeforeMarker(window))
            return .bytes(start..<offset)
        }
        let marker = try source.byte(start + 1)
        if marker == 0xD9 {
            offset += 2
            return .end(start..<offset)
        }
        if marker == 0xD8 { throw .corrupt("a second image begins inside the first", at: start) }
        guard source.count - start >= 4 else { throw Self.truncated }
        let length = try source.u16(start + 2)
        if length < 2 { throw .corrupt("a segment has the length \(length)", at: start) }
        guard source.count - start - 2 >= length else { throw Self.truncated }
        offset += 2 + length
        return .segment(JPEGSegment(marker: marker, bytes: start..<offset))
    }

    private static let truncated = CoderError.truncated("the file ends before the end marker of the image")
}
