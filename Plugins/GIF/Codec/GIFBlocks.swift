internal import CoderPluginKit
internal import ImageModel

/// Walks the blocks of a GIF without decoding pixels; reads no byte twice.
///
/// Records a block only when it is complete, so the walk continues at the same position once the source has grown.
struct GIFScanner {
    /// The logical screen (sections 17 … 19).
    struct Screen {
        var canvas = PixelSize.zero
        var globalPalette: Range<Int>?
        var backgroundIndex: UInt8 = 0
        /// 0: not stored; else pixel width ÷ height × 64 − 15.
        var aspect: UInt8 = 0
    }

    /// The extensions that concern the whole file.
    struct Extensions {
        /// The loop number as stored; nil if the file has none.
        var loopCount: UInt16?
        var comments: [Range<Int>] = []
        var xmp: Range<Int>?
        var profile: Range<Int>?
    }

    /// The traits of the frames found so far.
    struct Traits {
        /// Whether a frame has a transparent index.
        var hasTransparentIndex = false
        /// Whether a frame before the last clears or restores pixels.
        var uncovers = false
        /// The bytes of the largest palette in use; 768 if there is no palette.
        var largestPalette = 0
    }

    /// How far the walk has come.
    struct Walk {
        /// The position of the next block.
        var position = 0
        var isFinished = false
        /// The position that the walk over the data blocks from `start` on has reached.
        fileprivate var blocks = (start: 0, position: 0)
    }

    private let source: ByteSource
    private let limits: DecodeLimits
    private(set) var walk = Walk()
    private(set) var screen = Screen()
    private(set) var extensions = Extensions()
    private(set) var traits = Traits()
    private(set) var frames: [GIFFrame] = []
    /// A frame whose data has not arrived completely.
    private(set) var openFrame: GIFFrame?
    /// Warnings for the user.
    private var warnings: [String] = []
    /// The graphic control of the next frame.
    private var control: GIFFrame.Control?

    /// The maximum number of kept comments: each costs more memory than bytes in the file.
    private static let mostComments = 1024
    /// The number of bytes to read at once, from a source that has to read them.
    private static let piece = 1 << 16

    init(_ source: ByteSource, limits: DecodeLimits) {
        self.source = source
        self.limits = limits
    }

    /// Reads the signature and the logical screen (sections 17 … 19), once.
    mutating func readScreen() throws(CoderError) {
        if walk.position > 0 { return }
        var reader = ByteReader(source)
        // GIF87a, GIF89a
        let isGIF = try reader.consume([0x47, 0x49, 0x46, 0x38])
        let version = try isGIF ? reader.bytes(2) : []
        guard version == [0x37, 0x61] || version == [0x39, 0x61] else { throw .notMine() }
        screen.canvas = PixelSize(Int(try reader.u16LE()), Int(try reader.u16LE()))
        let flags = try reader.u8()
        screen.backgroundIndex = try reader.u8()
        screen.aspect = try reader.u8()
        let start = reader.offset
        try reader.skip(GIFFrame.paletteBytes(flags))
        screen.globalPalette = reader.offset == start ? nil : start..<reader.offset
        walk.position = reader.offset
    }

    /// Walks to the end of the next frame; false behind the last.
    mutating func advance() throws(CoderError) -> Bool {
        while !walk.isFinished {
            if let frame = openFrame {
                guard let end = endOfBlocks(from: frame.dataOffset + 1) else {
                    throw source.isComplete ? .truncated() : .needsInput
                }
                if limits.maxFrames > 0, frames.count >= limits.maxFrames {
                    throw .limit("frames", allowed: limits.maxFrames, requested: frames.count + 1)
                }
                openFrame?.dataEnd = end
                closeFrame()
                walk.position = end
                return true
            }
            try readBlock()
        }
        return false
    }

    /// Walks until the first frame has begun.
    mutating func findFirstFrame() throws(CoderError) {
        while frames.isEmpty, openFrame == nil, !walk.isFinished { try readBlock() }
        guard let first = frames.first ?? openFrame else {
            throw .corrupt("the file has no frame", at: walk.position)
        }
        // A canvas without area is as large as the first image needs, as in browsers.
        if screen.canvas.width == 0 { screen.canvas.width = first.rect.x + first.rect.width }
        if screen.canvas.height == 0 { screen.canvas.height = first.rect.y + first.rect.height }
        if screen.canvas.isEmpty || screen.canvas.width > 0xFFFF || screen.canvas.height > 0xFFFF {
            throw .corrupt("the canvas is empty", at: 6)
        }
    }

    /// Records the frame whose data is cut off, and ends the walk; false if there is none.
    mutating func keepOpenFrame() -> Bool {
        guard let openFrame, !openFrame.rect.isEmpty else { return false }
        closeFrame()
        warnings.append("the file ends without a trailer")
        walk.isFinished = true
        return true
    }

    mutating func takeWarnings() -> [String] {
        defer { warnings = [] }
        return warnings
    }

    private mutating func closeFrame() {
        guard let frame = openFrame else { return }
        if let before = frames.last, before.disposal == .background || frames.count == 1 && before.disposal != .keep {
            traits.uncovers = true
        }
        frames.append(frame)
        openFrame = nil
    }

    private mutating func readBlock() throws(CoderError) {
        var reader = ByteReader(source, at: walk.position)
        if !frames.isEmpty, walk.position >= source.available, source.isComplete, walk.position >= source.available {
            warnings.append("the file ends without a trailer")
            walk.isFinished = true
            return
        }
        switch try reader.u8() {
        case 0x21: try readExtension(&reader)
        case 0x2C: try readDescriptor(&reader)
        case 0x3B: walk.isFinished = true
        // Some writers end data twice.
        case 0x00: walk.position = reader.offset
        default:
            guard !frames.isEmpty else { throw .corrupt("invalid block", at: walk.position) }
            warnings.append("ignored invalid bytes after the last block")
            walk.isFinished = true
        }
    }

    private mutating func readDescriptor(_ reader: inout ByteReader) throws(CoderError) {
        let (x, y) = (try reader.u16LE(), try reader.u16LE())
        let (width, height) = (try reader.u16LE(), try reader.u16LE())
        let area = Int(width) * Int(height)
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        let flags = try reader.u8()
        try reader.skip(GIFFrame.paletteBytes(flags))
        let dataOffset = reader.offset
        _ = try reader.u8()
        let frame = GIFFrame(
            x: x, y: y, width: width, height: height, flags: flags, control: control ?? GIFFrame.Control(),
            dataOffset: dataOffset)
        if control?.transparentIndex != nil { traits.hasTransparentIndex = true }
        traits.largestPalette = max(traits.largestPalette, (frame.palette ?? screen.globalPalette)?.count ?? 768)
        openFrame = frame
        control = nil
    }

    private mutating func readExtension(_ reader: inout ByteReader) throws(CoderError) {
        let label = try reader.u8()
        let start = reader.offset
        guard let end = endOfBlocks(from: start) else { throw source.isComplete ? .truncated() : .needsInput }
        walk.position = end
        let size = Int(source[start])
        switch label {
        case 0xF9 where size >= 4 && end > start + 4:
            // Section 23: flags, delay, transparent index
            let flags = source[start + 1]
            control = GIFFrame.Control(
                delay: UInt16(source[start + 2]) | UInt16(source[start + 3]) << 8, disposal: flags >> 2 & 7,
                transparentIndex: flags & 1 != 0 ? source[start + 4] : nil)
        case 0xFE: noteComment(start..<end)
        // A failing source reads as zero: then the blocks end where they began.
        case 0xFF where size == 11 && end > start + 12:
            readApplication(source.bytes(start + 1..<start + 12), start + 12..<end)
        // Viewers ignore plain text; it uses up the graphic control in front of it (section 25).
        case 0x01: control = nil
        default: break
        }
    }

    private mutating func noteComment(_ range: Range<Int>) {
        if extensions.comments.count < Self.mostComments {
            extensions.comments.append(range)
        } else if extensions.comments.count == Self.mostComments, warnings.isEmpty {
            warnings.append("ignored all comments after the first \(Self.mostComments)")
        }
    }

    private mutating func readApplication(_ name: [UInt8], _ data: Range<Int>) {
        switch String(decoding: name, as: UTF8.self) {
        case "NETSCAPE2.0", "ANIMEXTS1.0":
            // 3 | 1 | count (2); 2 in place of 1 is the size of a buffer
            guard data.count >= 4, source[data.lowerBound] >= 3, source[data.lowerBound + 1] & 7 == 1 else { return }
            extensions.loopCount = UInt16(source[data.lowerBound + 2]) | UInt16(source[data.lowerBound + 3]) << 8
        case "XMP DataXMP": extensions.xmp = data
        case "ICCRGBG1012": extensions.profile = data
        default: break
        }
    }

    /// Returns the position behind the terminator of a row of data blocks; nil if it has not arrived.
    private mutating func endOfBlocks(from start: Int) -> Int? {
        var position = walk.blocks.start == start ? walk.blocks.position : start
        let available = source.available
        while position < available {
            let first = position
            let isEnded = source.withBytes(first..<min(available, first + Self.piece)) { bytes in
                var offset = 0
                while offset < bytes.byteCount {
                    let size = Int(bytes.byte(at: offset))
                    offset += 1 + size
                    if size == 0 { break }
                    position = first + offset
                }
                // Only the terminator distinguishes the two.
                return position != first + offset
            }
            if isEnded { return position + 1 }
        }
        walk.blocks = (start, position)
        return nil
    }
}
