internal import CoderPluginKit
internal import ImageModel

/// One block as stored in the file, from its first byte to its terminator.
struct GIFBlock {
    enum Kind: Equatable {
        /// The delay, disposal and transparent index of the image behind it.
        case control
        case comment
        /// With the eleven letters of its name; nil for another length.
        case application(String?)
        case plainText
        case otherExtension
        /// With the flags of its descriptor, and the position of the code size, behind the palette.
        case image(flags: UInt8, dataOffset: Int)
        /// A terminator that belongs to no block.
        case filler
        case trailer
    }

    var kind: Kind
    var range: Range<Int>

    /// Whether it sets the loop count of an animation.
    var isLooping: Bool { kind == .application("NETSCAPE2.0") || kind == .application("ANIMEXTS1.0") }
}

/// Walks over every block behind the logical screen.
struct GIFBlockWalk {
    /// The number of bytes to read at once, from a source that has to read them.
    private static let piece = 1 << 16
    /// The number of blocks between two polls.
    private static let patience = 256

    private let source: ByteSource
    private let host: HostServices
    /// The position of the next block; at the end, of the first byte behind the last block.
    private(set) var position: Int
    /// Warnings for the user.
    private(set) var warning: String?
    private var count = 0
    private var hasImage = false
    private var isFinished = false

    init(_ source: ByteSource, from position: Int, host: HostServices) {
        self.source = source
        self.position = position
        self.host = host
    }

    /// Returns the next complete block; nil behind the last.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.needsInput`.
    mutating func next() throws(CoderError) -> GIFBlock? {
        if isFinished { return nil }
        if count % Self.patience == 0 { try host.checkCancellation() }
        count += 1
        if hasImage, position >= source.available, source.isComplete, position >= source.available {
            return finish(because: "the file ends without a trailer")
        }
        var reader = ByteReader(source, at: position)
        let kind: GIFBlock.Kind
        switch try reader.u8() {
        case 0x21: kind = try readExtension(&reader)
        case 0x2C: kind = try readImage(&reader)
        case 0x3B:
            kind = .trailer
            isFinished = true
        case 0x00: kind = .filler
        default:
            guard hasImage else { throw .corrupt("invalid block", at: position) }
            return finish(because: "ignored invalid bytes after the last block")
        }
        let range = position..<reader.offset
        position = reader.offset
        return GIFBlock(kind: kind, range: range)
    }

    private mutating func finish(because warning: String) -> GIFBlock? {
        self.warning = warning
        isFinished = true
        return nil
    }

    /// - Source: GIF89a specification, sections 23 … 26.
    private func readExtension(_ reader: inout ByteReader) throws(CoderError) -> GIFBlock.Kind {
        let label = try reader.u8()
        let start = reader.offset
        let size = try reader.u8()
        reader.offset = try endOfBlocks(from: start)
        switch label {
        case 0xF9: return .control
        case 0xFE: return .comment
        case 0x01: return .plainText
        case 0xFF where size == 11:
            return .application(
                String(String.UnicodeScalarView(source.bytes(start + 1..<start + 12).map { Unicode.Scalar($0) })))
        case 0xFF: return .application(nil)
        default: return .otherExtension
        }
    }

    /// - Source: GIF89a specification, sections 20 … 22.
    private mutating func readImage(_ reader: inout ByteReader) throws(CoderError) -> GIFBlock.Kind {
        try reader.skip(8)
        let flags = try reader.u8()
        try reader.skip(GIFFrame.paletteBytes(flags))
        let dataOffset = reader.offset
        try reader.skip(1)
        reader.offset = try endOfBlocks(from: reader.offset)
        hasImage = true
        return .image(flags: flags, dataOffset: dataOffset)
    }

    /// Returns the position behind the terminator of a row of data blocks.
    private func endOfBlocks(from start: Int) throws(CoderError) -> Int {
        // Keep this order: the last bytes may arrive between the two checks.
        let isComplete = source.isComplete
        let available = source.available
        var position = start
        while position < available {
            try host.checkCancellation()
            let first = position
            let isEnded = source.withBytes(first..<min(available, first + Self.piece)) { bytes in
                while position - first < bytes.byteCount {
                    let size = Int(bytes.byte(at: position - first))
                    position += 1 + size
                    if size == 0 { return true }
                }
                return false
            }
            if isEnded { return position }
        }
        throw isComplete ? .truncated() : .needsInput
    }
}
