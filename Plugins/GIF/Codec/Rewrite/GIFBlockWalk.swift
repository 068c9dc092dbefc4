internal import CoderPluginKit
internal import ImageModel

/// One block as it stands in the file, from its first byte to its terminator.
struct GIFBlock {
    enum Kind: Equatable {
        /// Delay, disposal and transparent index of the image behind it.
        case control
        case comment
        /// With the eleven letters of its name; nil where it has another length.
        case application(String?)
        case plainText
        case otherExtension
        /// With the flags of its descriptor, and where the code size stands, behind the palette.
        case image(flags: UInt8, dataOffset: Int)
        /// A terminator that belongs to nothing.
        case filler
        case trailer
    }

    var kind: Kind
    var range: Range<Int>

    /// Whether it sets how often an animation is played.
    var isLooping: Bool { kind == .application("NETSCAPE2.0") || kind == .application("ANIMEXTS1.0") }
}

/// Walks over every block behind the logical screen.
struct GIFBlockWalk {
    /// Bytes looked at in one go, of a source that has to read them.
    private static let piece = 1 << 16
    /// Blocks between two questions whether to go on.
    private static let patience = 256

    private let source: ByteSource
    private let host: HostServices
    /// Where the next block begins; behind the last one, where what is no block begins.
    private(set) var position: Int
    /// What was off, for the user.
    private(set) var warning: String?
    private var count = 0
    private var hasImage = false
    private var isFinished = false

    init(_ source: ByteSource, from position: Int, host: HostServices) {
        self.source = source
        self.position = position
        self.host = host
    }

    /// The next block, all of which is there; nil behind the last.
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
            guard hasImage else { throw .corrupt("there is no block where one should begin", at: position) }
            return finish(because: "the file goes on with bytes that are no block")
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

    /// The position behind the terminator of a row of data blocks.
    private func endOfBlocks(from start: Int) throws(CoderError) -> Int {
        // Asked in this order: the last bytes may arrive between the two questions.
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
