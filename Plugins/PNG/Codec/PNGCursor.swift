package import CoderPluginKit
package import ImageModel

/// Walks the chunks of one picture and says which compressed bytes come next.
///
/// Chunks without influence on the pixels are stepped over, so that neither their size nor their damage matters here.
package struct PNGCursor {
    /// `\x89PNG\r\n\x1A\n` (PNG 3rd edition, 5.2).
    package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Compressed bytes between two questions whether to go on; at most 1032 times as much when inflated.
    private static let slice = 1 << 16
    /// Bytes of fdAT in front of the compressed ones (PNG 3rd edition, 11.3.6.3).
    private static let sequenceNumber = 4

    private let source: ByteSource
    private let kind: PNGChunk.Kind
    private let isFrame: Bool
    private var position: Int
    /// The chunk of pixels that `position` is in, and the checksum of what was passed of it.
    private var current: PNGChunk?
    private var crc = CRC32()
    private var isFinished = false

    /// Starts at a chunk.
    ///
    /// - Parameters:
    ///   - kind: the chunks that hold the pixels.
    ///   - isFrame: whether the picture ends where the next frame begins.
    package init(_ source: ByteSource, at position: Int, kind: PNGChunk.Kind = .imageData, isFrame: Bool = false) {
        self.source = source
        self.position = position
        self.kind = kind
        self.isFrame = isFrame
    }

    /// The next bytes to push; nil behind the last.
    ///
    /// - Throws: `.needsInput` or `.truncated` where the file ends for now, `.corrupt` at a wrong checksum.
    package mutating func next() throws(CoderError) -> Range<Int>? {
        while !isFinished {
            if let chunk = current {
                if position < chunk.data.upperBound { return try slice(of: chunk) }
                try ByteReader(source, at: position).require(4)
                guard chunk.storedChecksum(in: source) == crc.value else {
                    throw .corrupt("the checksum of a chunk is wrong", at: position)
                }
                position = chunk.range.upperBound
                current = nil
            }
            let chunk = try PNGChunk(at: position, in: source)
            if chunk.kind == kind {
                try enter(chunk)
            } else if isFrame, chunk.kind == .fcTL || chunk.kind == .imageEnd {
                isFinished = true
            } else {
                try pass(chunk)
            }
        }
        return nil
    }

    private mutating func slice(of chunk: PNGChunk) throws(CoderError) -> Range<Int> {
        // Asked in this order: the last bytes may arrive between the two questions.
        let isComplete = source.isComplete
        let end = min(source.available, chunk.data.upperBound, position + Self.slice)
        if end <= position { throw isComplete ? .truncated() : .needsInput }
        let range = position..<end
        source.withBytes(range) { crc.add($0) }
        position = end
        return range
    }

    private mutating func enter(_ chunk: PNGChunk) throws(CoderError) {
        let skipped = kind == .fdAT ? Self.sequenceNumber : 0
        if chunk.length < skipped { throw .corrupt("a chunk of a frame has no number", at: chunk.offset) }
        try ByteReader(source, at: position).require(8 + skipped)
        crc = CRC32()
        source.withBytes(chunk.offset + 4..<chunk.data.lowerBound + skipped) { crc.add($0) }
        position = chunk.data.lowerBound + skipped
        current = chunk
    }

    private mutating func pass(_ chunk: PNGChunk) throws(CoderError) {
        try ByteReader(source, at: position).require(chunk.range.count)
        if !chunk.kind.isAncillary, chunk.kind != .imageData {
            guard chunk.kind == .imageEnd, chunk.isIntact(in: source) else {
                throw .corrupt("a chunk is damaged, out of place or unknown, and cannot be left out", at: chunk.offset)
            }
            isFinished = true
        }
        position = chunk.range.upperBound
    }
}
