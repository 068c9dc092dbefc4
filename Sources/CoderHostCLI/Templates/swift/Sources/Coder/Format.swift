import CEntry

/// A toy format, so that everything works before you change anything.
///
///     "toy-@NAME@\n" | width 4 | height 4 | rows from the top, RGBA of 8 bits, straight alpha      (big-endian)
struct Header {
    static let magic = Array("toy-@NAME@\n".utf8)
    static let byteCount = magic.count + 8

    var width: UInt32
    var height: UInt32

    /// Nil if the bytes have another format. A partial header is compared as far as it goes.
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

/// The only pixel format of decoder and encoder; the host converts.
let rgba = cpi_pixel_format(
    channels: CPI_CHANNELS_RGBA, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: CPI_ALPHA_STRAIGHT, count: 0, layout: 0,
    reserved: 0)

extension cpi_pixel_format {
    var isRGBA: Bool {
        channels == rgba.channels && numeric == rgba.numeric && bits == rgba.bits && alpha == rgba.alpha
    }
}

/// Returns element `index` of the list of pixel formats, which has one element.
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
    /// Whether the surface has the agreed format and size, and room for every row.
    func isAgreed(_ width: UInt32, _ height: UInt32) -> Bool {
        let row = UInt64(width) * UInt64(bytesPerPixel)
        return pixels != nil && format.isRGBA && self.width == width && self.height == height
            && stride >= row && byte_count >= row && (height == 1 || stride <= (byte_count - row) / UInt64(height - 1))
    }

    /// Returns the start of a row. Bytes after its last pixel belong to the host.
    func row(_ y: UInt32) -> UnsafeMutablePointer<UInt8> { pixels! + Int(UInt64(y) * stride) }
}
