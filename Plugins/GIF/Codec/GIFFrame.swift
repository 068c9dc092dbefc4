internal import ImageModel

/// One image as stored in the file.
///
///     2C | left, top, width, height (2 each) | flags | colors (3 × 2ⁿ) | code size | { n, n bytes } | 0
///
/// A file may have a million images: 32 bytes each, with fields as wide as stored.
/// - Source: GIF89a specification, sections 20 … 23.
struct GIFFrame {
    /// The graphic control extension of the image (section 23).
    struct Control {
        /// The delay in 1/100 s.
        var delay: UInt16 = 0
        /// The disposal 0 … 7, as stored.
        var disposal: UInt8 = 0
        var transparentIndex: UInt8?
    }

    private let x, y, width, height: UInt16
    let control: Control
    /// As stored: local palette 80, interlaced 40, bits of the palette − 1 in the lowest three.
    private let flags: UInt8
    /// The position of the code size, right behind the palette.
    let dataOffset: Int
    private var end = 0

    init(x: UInt16, y: UInt16, width: UInt16, height: UInt16, flags: UInt8, control: Control, dataOffset: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
        self.flags = flags
        self.control = control
        self.dataOffset = dataOffset
    }

    /// The end of the last data block; nil if it may not have arrived.
    var dataEnd: Int? {
        get { end == 0 ? nil : end }
        set { end = newValue ?? 0 }
    }

    var rect: PixelRect { PixelRect(x: Int(x), y: Int(y), width: Int(width), height: Int(height)) }

    var isInterlaced: Bool { flags & 0x40 != 0 }

    /// The position of the local palette; nil if there is none.
    var palette: Range<Int>? {
        let count = Self.paletteBytes(flags)
        return count == 0 ? nil : dataOffset - count..<dataOffset
    }

    /// The size in bytes of the palette that the flags of a screen or an image declare.
    static func paletteBytes(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 * (2 << Int(flags & 7)) }

    var disposal: Disposal {
        switch control.disposal {
        case 2: .background
        // 3 is "restore to previous" in section 23; an early writer used 4 for it.
        case 3, 4: .previous
        default: .keep
        }
    }

    /// Places the frame on a canvas of this size. A frame that reaches beyond it uses "over", so that pixels it lacks
    /// stay visible.
    func blend(on canvas: PixelSize) -> Blend {
        control.transparentIndex == nil && PixelRect(canvas).contains(rect) ? .source : .over
    }
}
