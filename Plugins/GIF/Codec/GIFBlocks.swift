internal import CoderPluginKit
internal import ImageModel

/// One picture as it stands in the file.
///
///     2C | left, top, width, height (2 each) | flags | colours (3 × 2ⁿ) | code size | { n, n bytes } | 0
///
/// - Source: GIF89a specification, sections 20 … 23.
struct GIFFrame {
    var rect: PixelRect
    /// 1/100 s.
    var delay: UInt16 = 0
    /// As stored, 0 … 7.
    var disposal: UInt8 = 0
    var transparentIndex: UInt8?
    var isInterlaced: Bool
    /// Where its colours stand; nil when there are none, here or for all.
    var palette: Range<Int>?
    /// Where the code size stands.
    var dataOffset: Int
    /// Behind the last data block; nil when the file ends before.
    var dataEnd: Int?
}

/// Walks the blocks of a GIF without looking into the pixels.
///
/// A block is noted only when all of it is there, so the walk can be repeated once the source has grown.
struct GIFScanner {
    private let source: ByteSource
    private let limits: DecodeLimits
    private(set) var position = 13
    private(set) var canvas = PixelSize.zero
    private(set) var globalPalette: Range<Int>?
    private(set) var backgroundIndex: UInt8 = 0
    /// 0: not stored; else pixel width ÷ height × 64 − 15.
    private(set) var aspect: UInt8 = 0
    /// The number as stored; nil when there is none.
    private(set) var storedLoopCount: UInt16?
    private(set) var frames: [GIFFrame] = []
    /// A frame whose data has not arrived to its end.
    private(set) var openFrame: GIFFrame?
    private(set) var comments: [Range<Int>] = []
    private(set) var xmp: Range<Int>?
    private(set) var profile: Range<Int>?
    private(set) var isFinished = false
    /// What was off, for the user.
    private var warnings: [String] = []
    /// The graphic control that waits for its frame.
    private var control: (delay: UInt16, disposal: UInt8, transparentIndex: UInt8?)?

    init(_ source: ByteSource, limits: DecodeLimits) {
        self.source = source
        self.limits = limits
    }

    /// Reads the signature and the logical screen (sections 17 … 19).
    mutating func readScreen() throws(CoderError) {
        var reader = ByteReader(source)
        // GIF87a, GIF89a
        let isGIF = try reader.consume([0x47, 0x49, 0x46, 0x38])
        let version = try isGIF ? reader.bytes(2) : []
        guard version == [0x37, 0x61] || version == [0x39, 0x61] else { throw .notMine() }
        canvas = PixelSize(Int(try reader.u16LE()), Int(try reader.u16LE()))
        let flags = try reader.u8()
        backgroundIndex = try reader.u8()
        aspect = try reader.u8()
        if canvas.isEmpty { throw .corrupt("the canvas is empty", at: 6) }
        globalPalette = try palette(flags, &reader)
        position = reader.offset
    }

    /// Walks to the end of the next frame; false behind the last.
    mutating func advance() throws(CoderError) -> Bool {
        while !isFinished {
            if let frame = openFrame {
                guard let end = endOfBlocks(from: frame.dataOffset + 1) else {
                    throw source.isComplete ? .truncated() : .needsInput
                }
                if limits.maxFrames > 0, frames.count >= limits.maxFrames {
                    throw .limit("frames", allowed: limits.maxFrames, requested: frames.count + 1)
                }
                frames.append(frame)
                frames[frames.count - 1].dataEnd = end
                openFrame = nil
                position = end
                return true
            }
            try readBlock()
        }
        return false
    }

    /// Walks until the first frame has begun.
    mutating func findFirstFrame() throws(CoderError) {
        while frames.isEmpty, openFrame == nil, !isFinished { try readBlock() }
        if frames.isEmpty, openFrame == nil { throw .corrupt("the file holds no frame", at: position) }
    }

    /// Counts the frame whose data is cut off and ends the walk; false when there is none.
    mutating func keepOpenFrame() -> Bool {
        guard let openFrame, !openFrame.rect.isEmpty else { return false }
        frames.append(openFrame)
        self.openFrame = nil
        isFinished = true
        return true
    }

    mutating func takeWarnings() -> [String] {
        defer { warnings = [] }
        return warnings
    }

    private mutating func readBlock() throws(CoderError) {
        var reader = ByteReader(source, at: position)
        if position >= source.available, source.isComplete, !frames.isEmpty {
            warnings.append("the file ends without a trailer")
            isFinished = true
            return
        }
        switch try reader.u8() {
        case 0x21: try readExtension(&reader)
        case 0x2C: try readDescriptor(&reader)
        case 0x3B: isFinished = true
        // Some writers end data twice.
        case 0x00: position = reader.offset
        default:
            guard !frames.isEmpty else { throw .corrupt("there is no block where one should begin", at: position) }
            warnings.append("the file goes on with bytes that are no block")
            isFinished = true
        }
    }

    private mutating func readDescriptor(_ reader: inout ByteReader) throws(CoderError) {
        let (x, y) = (Int(try reader.u16LE()), Int(try reader.u16LE()))
        let (width, height) = (Int(try reader.u16LE()), Int(try reader.u16LE()))
        if limits.maxPixels > 0, width * height > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: width * height)
        }
        let flags = try reader.u8()
        let local = try palette(flags, &reader)
        let dataOffset = reader.offset
        _ = try reader.u8()
        openFrame = GIFFrame(
            rect: PixelRect(x: x, y: y, width: width, height: height), delay: control?.delay ?? 0,
            disposal: control?.disposal ?? 0, transparentIndex: control?.transparentIndex,
            isInterlaced: flags & 0x40 != 0, palette: local ?? globalPalette, dataOffset: dataOffset)
        control = nil
    }

    private mutating func readExtension(_ reader: inout ByteReader) throws(CoderError) {
        let label = try reader.u8()
        let start = reader.offset
        guard let end = endOfBlocks(from: start) else { throw source.isComplete ? .truncated() : .needsInput }
        position = end
        let size = Int(source[start])
        switch label {
        case 0xF9 where size >= 4:
            // Section 23: flags, delay, transparent index
            let flags = source[start + 1]
            control = (
                UInt16(source[start + 2]) | UInt16(source[start + 3]) << 8, flags >> 2 & 7,
                flags & 1 != 0 ? source[start + 4] : nil
            )
        case 0xFE: comments.append(start..<end)
        case 0xFF where size == 11: readApplication(source.bytes(start + 1..<start + 12), start + 12..<end)
        // Plain text is drawn by nobody; it uses up the graphic control in front of it (section 25).
        case 0x01: control = nil
        default: break
        }
    }

    private mutating func readApplication(_ name: [UInt8], _ data: Range<Int>) {
        switch String(decoding: name, as: UTF8.self) {
        case "NETSCAPE2.0", "ANIMEXTS1.0":
            // 3 | 1 | count (2); 2 in place of 1 is the size of a buffer
            guard data.count >= 4, source[data.lowerBound] >= 3, source[data.lowerBound + 1] & 7 == 1 else { return }
            storedLoopCount = UInt16(source[data.lowerBound + 2]) | UInt16(source[data.lowerBound + 3]) << 8
        case "XMP DataXMP": xmp = data
        case "ICCRGBG1012": profile = data
        default: break
        }
    }

    private func palette(_ flags: UInt8, _ reader: inout ByteReader) throws(CoderError) -> Range<Int>? {
        guard flags & 0x80 != 0 else { return nil }
        let count = 3 * (2 << Int(flags & 7))
        let start = reader.offset
        try reader.skip(count)
        return start..<start + count
    }

    /// The position behind the terminator of a row of data blocks; nil when it has not arrived.
    private func endOfBlocks(from start: Int) -> Int? {
        let available = source.available
        if start >= available { return nil }
        return source.withBytes(start..<available) { bytes in
            var offset = 0
            while offset < bytes.byteCount {
                let size = Int(bytes.byte(at: offset))
                offset += 1 + size
                if size == 0 { return start + offset }
            }
            return nil
        }
    }
}
