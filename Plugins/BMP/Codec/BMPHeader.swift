import CoderPluginKit
import ImageModel

/// The headers of a bitmap: of Windows (12, 40, 52, 56, 108 or 124 bytes) or of OS/2 (12, or 16 to 64 bytes).
///
/// - Source: [MS-WMF] 2.2.2 and the Windows SDK; OS/2 Presentation Manager, `BITMAPINFOHEADER2`.
struct BMPHeader {
    /// How the pixels are stored. The numbers of Windows and OS/2 overlap.
    enum Storage: Equatable { case plain, runs8, runs4, runs24, huffman, masks, jpeg, png }

    let byteCount: Int
    let size: PixelSize
    let isTopDown: Bool
    /// The number of bits of one pixel.
    let depth: Int
    let storage: Storage
    /// The stored number of palette colors; 0 stands for all that the depth allows.
    let colorCount: Int
    private(set) var masks = ChannelMasks()
    let density: PixelDensity?
    private(set) var color = BMPColor()

    /// The position after the header and after masks that do not belong to it.
    private(set) var end: Int

    /// Whether this is the first header of OS/2 and Windows, which has short fields.
    var isCore: Bool { byteCount == 12 }
    /// The number of bytes of a palette color.
    var colorBytes: Int { isCore ? 3 : 4 }
    /// The number of bytes of a row of unpacked pixels.
    var rowBytes: Int { (size.width * depth + 31) / 32 * 4 }

    /// Reads the header at the position of `reader`.
    init(_ reader: inout ByteReader) throws(CoderError) {
        let start = reader.offset
        let count = Int(try reader.u32LE())
        guard count == 12 || count >= 16, count <= 1 << 16 else {
            throw .corrupt("a bitmap header of \(count) bytes does not exist", at: start)
        }
        byteCount = count
        try reader.require(count - 4)
        let fields = Fields(source: reader.source, start: start, count: count)
        end = start + count

        let width: Int
        let storedHeight: Int
        if count == 12 {
            (width, storedHeight) = (fields.u16(4), fields.u16(6))
            depth = fields.u16(10)
        } else {
            (width, storedHeight) = (fields.i32(4), fields.i32(8))
            depth = fields.u16(14)
        }
        isTopDown = storedHeight < 0
        let height = abs(storedHeight)
        size = PixelSize(width, height)
        guard width > 0, height > 0 else { throw .corrupt("invalid image size \(width)x\(height)", at: start + 4) }

        let isOS2 = count < 40 || (count > 40 && count <= 64 && count != 52 && count != 56)
        storage = try Self.storage(UInt32(fields.u32(16)), depth: depth, isOS2: isOS2)
        guard storage == .jpeg || storage == .png || [1, 2, 4, 8, 16, 24, 32, 64].contains(depth) else {
            throw .corrupt("a bitmap cannot have \(depth) bits per pixel", at: start)
        }
        if isTopDown, ![.plain, .masks].contains(storage) {
            throw .corrupt("only uncompressed bitmaps can begin at the top", at: start)
        }
        let (bits, overflow) = width.multipliedReportingOverflow(by: max(1, depth))
        guard !overflow, bits < Int.max / 8 else { throw .corrupt("invalid image size \(size)", at: start + 4) }
        guard !((bits + 31) / 32 * 4).multipliedReportingOverflow(by: height).overflow else {
            throw .corrupt("invalid image size \(size)", at: start + 4)
        }
        colorCount = fields.u32(32)
        let (across, down) = (fields.i32(24), fields.i32(28))
        // OS/2 also has units of its own; only pixels per meter occur.
        density = across > 0 && down > 0 ? .perMeter(x: UInt32(across), y: UInt32(down)) : nil
        if storage == .masks { try readMasks(fields, &reader) }
        if count >= 108 { color = BMPColor(fields.u32, start: start, count: count) }
        reader.offset = end
    }

    private static func storage(_ number: UInt32, depth: Int, isOS2: Bool) throws(CoderError) -> Storage {
        switch (number, isOS2) {
        case (0, _): .plain
        case (1, _): try runs(depth, 8)
        case (2, _): try runs(depth, 4)
        case (3, true): if depth == 1 { .huffman } else { throw .corrupt("Huffman codes are for 1 bit, not \(depth)") }
        case (4, true): try runs(depth, 24)
        case (3, false), (6, false):
            if depth == 16 || depth == 32 {
                .masks
            } else {
                throw .corrupt("masks are for 16 and 32 bits, not \(depth)")
            }
        case (4, false): .jpeg
        case (5, false): .png
        default: throw .unsupported("BMP compression \(number)")
        }
    }

    private static func runs(_ depth: Int, _ expected: Int) throws(CoderError) -> Storage {
        guard depth == expected else { throw .corrupt("runs of \(expected) bits in a bitmap of \(depth) bits") }
        return expected == 8 ? .runs8 : expected == 4 ? .runs4 : .runs24
    }

    /// Reads the masks, which belong to the header from 52 bytes on, and follow it before.
    private mutating func readMasks(_ fields: Fields, _ reader: inout ByteReader) throws(CoderError) {
        let hasAlpha: Bool
        var words = [0, 0, 0, 0]
        if byteCount >= 52 {
            hasAlpha = byteCount >= 56
            for index in 0..<(hasAlpha ? 4 : 3) { words[index] = fields.u32(40 + 4 * index) }
        } else {
            hasAlpha = fields.u32(16) == 6
            reader.offset = end
            for index in 0..<(hasAlpha ? 4 : 3) { words[index] = Int(try reader.u32LE()) }
            end = reader.offset
        }
        masks = try ChannelMasks(words.map { UInt32(truncatingIfNeeded: $0) }, depth: depth)
    }

    /// The fields of a header; those beyond its end are 0.
    private struct Fields {
        let source: ByteSource
        let start: Int
        let count: Int

        func u16(_ offset: Int) -> Int {
            guard offset + 2 <= count else { return 0 }
            return Int(source[start + offset]) | Int(source[start + offset + 1]) << 8
        }
        func u32(_ offset: Int) -> Int { u16(offset) | u16(offset + 2) << 16 }
        func i32(_ offset: Int) -> Int { Int(Int32(truncatingIfNeeded: u32(offset))) }
    }
}
