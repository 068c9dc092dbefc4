internal import ImageModel

/// One picture as it stands in the file.
///
///     2C | left, top, width, height (2 each) | flags | colours (3 × 2ⁿ) | code size | { n, n bytes } | 0
///
/// There may be a million of them: 32 bytes each, with the fields as wide as they are stored.
/// - Source: GIF89a specification, sections 20 … 23.
struct GIFFrame {
    /// What a graphic control extension says of the picture behind it (section 23).
    struct Control {
        /// 1/100 s.
        var delay: UInt16 = 0
        /// 0 … 7, as stored.
        var disposal: UInt8 = 0
        var transparentIndex: UInt8?
    }

    private let x, y, width, height: UInt16
    let control: Control
    /// As stored: local palette 80, interlaced 40, bits of the palette − 1 in the lowest three.
    private let flags: UInt8
    /// Where the code size stands, right behind the palette.
    let dataOffset: Int
    private var end = 0

    init(x: UInt16, y: UInt16, width: UInt16, height: UInt16, flags: UInt8, control: Control, dataOffset: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
        self.flags = flags
        self.control = control
        self.dataOffset = dataOffset
    }

    /// Behind the last data block; nil when it is not known to be there.
    var dataEnd: Int? {
        get { end == 0 ? nil : end }
        set { end = newValue ?? 0 }
    }

    var rect: PixelRect { PixelRect(x: Int(x), y: Int(y), width: Int(width), height: Int(height)) }

    var isInterlaced: Bool { flags & 0x40 != 0 }

    /// Where its own colours stand; nil when it has none.
    var palette: Range<Int>? {
        let count = Self.paletteBytes(flags)
        return count == 0 ? nil : dataOffset - count..<dataOffset
    }

    /// Bytes of the palette that the flags of a screen or a picture announce.
    static func paletteBytes(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 * (2 << Int(flags & 7)) }

    var disposal: Disposal {
        switch control.disposal {
        case 2: .background
        // 3 is section 23's "restore to previous"; 4 is what an early writer took for it.
        case 3, 4: .previous
        default: .keep
        }
    }

    /// Over a canvas of this size; a frame that reaches beyond it is drawn over, so that what it lacks shows through.
    func blend(on canvas: PixelSize) -> Blend {
        control.transparentIndex == nil && PixelRect(canvas).contains(rect) ? .source : .over
    }
}
