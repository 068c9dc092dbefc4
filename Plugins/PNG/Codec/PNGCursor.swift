internal import CoderPluginKit
internal import ImageModel

/// Walks the file and says which bytes the pixels need next.
///
/// Chunks without influence on the pixels are stepped over, so that neither their size nor their damage matters here.
struct PNGCursor {
    /// `\x89PNG\r\n\x1A\n` (PNG 3rd edition, 5.2).
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Compressed bytes between two questions whether to go on; at most 1032 times as much when inflated.
    private static let slice = 1 << 14

    private let source: ByteSource
    private(set) var position: Int
    /// The end of the IDAT that `position` is in.
    private var dataEnd: Int
    private(set) var isFinished = false

    /// Starts at a chunk.
    init(_ source: ByteSource, at position: Int) {
        self.source = source
        self.position = position
        dataEnd = position
    }

    /// The next bytes to push; nil behind IEND.
    ///
    /// - Throws: `.needsInput` or `.truncated` where the file ends for now.
    mutating func next() throws(CoderError) -> (range: Range<Int>, isImageData: Bool)? {
        while !isFinished {
            if position < dataEnd {
                let end = min(source.available, dataEnd, position + Self.slice)
                if end <= position { throw source.isComplete ? .truncated() : .needsInput }
                defer { position = end }
                return (position..<end, true)
            }
            let chunk = try PNGChunk(at: position, in: source)
            if chunk.kind == .imageData {
                dataEnd = chunk.range.upperBound
                continue
            }
            try ByteReader(source, at: position).require(chunk.range.count)
            defer { position = chunk.range.upperBound }
            if chunk.kind == .imageEnd { isFinished = true }
            if chunk.kind.concernsPixels { return (chunk.range, false) }
        }
        return nil
    }
}
