import CEntry

/// The format, which is a toy, so that everything works before you change anything.
///
///     "toy-@NAME@\n" | width 4 | height 4 | rows from the top, RGBA of 8 bits, straight alpha      (big-endian)
struct Header {
    static let magic = Array("toy-@NAME@\n".utf8)
    static let byteCount = magic.count + 8

    var width: UInt32
    var height: UInt32

    /// Nil where the bytes are those of another format; fewer than a whole header are looked at as far as they go.
    init?(_ bytes: [UInt8], count: Int) {
        let known = min(count, Self.magic.count)
        guard bytes[..<known] == Self.magic[..<known] else { return nil }
        func number(_ at: Int) -> UInt32 { bytes[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        width = number(Self.magic.count)
        height = number(Self.magic.count + 4)
    }

    init(width: UInt32, height: UInt32) {
        self.width = width
        self.height = height
    }

    var bytes: [UInt8] {
        Self.magic
            + [width, height].flatMap { number in
                (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
            }
    }
}

let bytesPerPixel = 4

/// The one pixel format that is decoded to and encoded from; the host converts.
let rgba = cpi_pixel_format(
    channels: CPI_CHANNELS_RGBA, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: CPI_ALPHA_STRAIGHT, count: 0, layout: 0,
    reserved: 0)

extension cpi_pixel_format {
    var isRGBA: Bool {
        channels == rgba.channels && numeric == rgba.numeric && bits == rgba.bits && alpha == rgba.alpha
    }
}

/// Answers number `index` of a list of pixel formats that has one element.
func offerRGBA(_ index: UInt32, _ offer: UnsafeMutablePointer<cpi_format_offer>) -> cpi_status {
    if index > 0 { return CPI_END }
    var mine = cpi_format_offer()
    mine.size = UInt32(MemoryLayout<cpi_format_offer>.size)
    mine.format = rgba
    mine.row_align = 1
    give(mine, to: offer)
    return CPI_OK
}

extension cpi_surface {
    /// Whether it has the agreed format and size, and room for every row: the host's word is checked, too.
    func isAgreed(_ width: UInt32, _ height: UInt32) -> Bool {
        let row = UInt64(width) * UInt64(bytesPerPixel)
        return pixels != nil && format.isRGBA && self.width == width && self.height == height
            && stride >= row && byte_count >= row && (height == 1 || stride <= (byte_count - row) / UInt64(height - 1))
    }

    /// Where a row begins. What is behind its last pixel is not ours.
    func row(_ y: UInt32) -> UnsafeMutablePointer<UInt8> { pixels! + Int(UInt64(y) * stride) }
}
