package import CoderPluginKit
package import ImageModel

/// Walks the chunks of one image and finds the next compressed bytes.
///
/// Skips chunks that do not affect the pixels, so that neither their size nor damage in them matters.
package struct PNGCursor {
    /// `\x89PNG\r\n\x1A\n` (PNG 3rd edition, 5.2).
    package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The compressed bytes between two polls; at most 1032 times as many when inflated.
    private static let slice = 1 << 16
    /// The bytes of fdAT in front of the compressed ones (PNG 3rd edition, 11.3.6.3).
    private static let sequenceNumber = 4

    private let source: ByteSource
    private let kind: PNGChunk.Kind
    private let isFrame: Bool
    private var position: Int
    /// The pixel chunk at `position`, and the checksum of its bytes so far.
    private var current: PNGChunk?
    private var crc = CRC32()
    private var isFinished = false
    private var hasEntered = false
    /// Whether the decoder has used a byte of `current`.
    private var isUsed = false

    /// Whether the walk is behind a pixel chunk whose checksum is correct, and in no other one of which a byte is used.
    var isBehindPixels: Bool { hasEntered && (current == nil || !isUsed) }

    /// Records that the decoder uses the last bytes: if the checksum of their chunk is wrong, the pixels may be, too.
    mutating func noteUse() { isUsed = true }

    /// Starts at a chunk.
    ///
    /// - Parameters:
    ///   - kind: the type of the pixel chunks.
    ///   - isFrame: whether the image ends at the start of the next frame.
    package init(_ source: ByteSource, at position: Int, kind: PNGChunk.Kind = .imageData, isFrame: Bool = false) {
        self.source = source
        self.position = position
        self.kind = kind
        self.isFrame = isFrame
    }

    /// Returns the next bytes to decode; nil behind the last.
    ///
    /// - Throws: `.needsInput` or `.truncated` if the file ends, `.corrupt` for a wrong checksum.
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
        // Keep this order: the last bytes may arrive between the two checks.
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
        if chunk.length < skipped { throw .corrupt("a data chunk of a frame has no sequence number", at: chunk.offset) }
        try ByteReader(source, at: position).require(8 + skipped)
        crc = CRC32()
        source.withBytes(chunk.offset + 4..<chunk.data.lowerBound + skipped) { crc.add($0) }
        position = chunk.data.lowerBound + skipped
        current = chunk
        isUsed = false
        hasEntered = true
    }

    private mutating func pass(_ chunk: PNGChunk) throws(CoderError) {
        try ByteReader(source, at: position).require(chunk.range.count)
        if !chunk.kind.isAncillary, chunk.kind != .imageData {
            guard chunk.kind == .imageEnd, chunk.isIntact(in: source) else {
                throw .corrupt("a required chunk is damaged, out of place or unknown", at: chunk.offset)
            }
            isFinished = true
        }
        position = chunk.range.upperBound
    }
}
