import CoderPluginKit
import ImageModel

/// The way in which a DDS file stores its pixels.
struct DDSLayout {
    enum Kind: Equatable {
        case bc1, bc2, bc3, redInAlpha, bc4(isSigned: Bool), bc5(isSigned: Bool), bc6h(isSigned: Bool), bc7
        /// Pixels whose bits are channels.
        case masks(DDSMasks)
        /// Samples of 8, 16 or 32 bits, as in the result but for missing channels.
        case samples(Int)
        case palette
    }

    let kind: Kind
    let format: PixelFormat
    /// Whether the stored samples are floats of this number of bits; they become 16-bit samples.
    let floatBits: Int
    let color: ColorDescription
    /// Red, green, blue and alpha of each index.
    private(set) var palette: [UInt8] = []

    /// Whether blocks of 4 × 4 pixels are stored, and not rows.
    var isBlocks: Bool { blockBytes > 0 }

    /// The number of bytes of a block; 0 for other pixels.
    var blockBytes: Int {
        switch kind {
        case .bc1, .bc4: 8
        case .bc2, .bc3, .redInAlpha, .bc5, .bc6h, .bc7: 16
        case .masks, .samples, .palette: 0
        }
    }

    /// The number of bytes of a pixel that is not in a block.
    var pixelBytes: Int {
        switch kind {
        case .masks(let masks): masks.byteCount
        case .samples(let channels): channels * (floatBits > 0 ? floatBits / 8 : format.bytesPerSample)
        default: 1
        }
    }

    /// Returns the number of bytes of a row of pixels or of blocks.
    func rowBytes(_ width: Int) -> Int { isBlocks ? (width + 3) / 4 * blockBytes : width * pixelBytes }

    /// Returns the number of bytes of an image.
    func byteCount(_ size: PixelSize) -> Int { rowBytes(size.width) * (isBlocks ? (size.height + 3) / 4 : size.height) }

    /// Returns the number of four characters.
    static func code(_ text: StaticString) -> Int {
        text.description.utf8.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private init(_ kind: Kind, _ format: PixelFormat) {
        self.kind = kind
        floatBits = format.numeric == .float ? format.bits : 0
        self.format = floatBits > 0 ? PixelFormat(format.channels, bits: 16, alpha: format.alpha) : format
        color = ColorDescription(codePoints: floatBits > 0 ? .sRGB : nil)
    }

    // MARK: The first header

    /// - Throws: `.unsupported`, `.corrupt`.
    init(
        flags: Int, code: Int, bits: Int, masks: [Int], _ reader: inout ByteReader
    ) throws(CoderError) {
        if flags & 4 != 0 {
            self = try Self.named(code)
        } else if flags & 0x20 != 0 {
            // The stated number of bits is that of an index or of a color.
            self.init(.palette, .rgba8)
            palette = try reader.bytes(1024)
        } else {
            guard flags & 0x2_0042 != 0 else { throw .unsupported("the DDS pixel format \(flags)") }
            let hasAlpha = flags & 3 != 0
            let masks = try DDSMasks(
                masks, bits: bits, isGray: flags & 0x2_0000 != 0, hasAlpha: hasAlpha, onlyAlpha: flags & 0x2_0042 == 2)
            self.init(.masks(masks), masks.format)
        }
    }

    private static func named(_ code: Int) throws(CoderError) -> DDSLayout {
        let premultiplied = PixelFormat(.rgba, alpha: .premultiplied)
        switch code {
        case Self.code("DXT1"): return DDSLayout(.bc1, .rgba8)
        case Self.code("DXT2"): return DDSLayout(.bc2, premultiplied)
        case Self.code("DXT3"): return DDSLayout(.bc2, .rgba8)
        case Self.code("DXT4"): return DDSLayout(.bc3, premultiplied)
        case Self.code("DXT5"): return DDSLayout(.bc3, .rgba8)
        case Self.code("RXGB"): return DDSLayout(.redInAlpha, PixelFormat(.rgba, alpha: .opaque))
        case Self.code("ATI1"), Self.code("BC4U"): return DDSLayout(.bc4(isSigned: false), .gray8)
        case Self.code("BC4S"): return DDSLayout(.bc4(isSigned: true), .gray8)
        case Self.code("ATI2"), Self.code("BC5U"): return DDSLayout(.bc5(isSigned: false), .rgb8)
        case Self.code("BC5S"): return DDSLayout(.bc5(isSigned: true), .rgb8)
        // Numbers of Direct3D 9.
        case 36: return try DDSLayout(dxgi: 11, alphaMode: 0)
        case 111: return try DDSLayout(dxgi: 54, alphaMode: 0)
        case 112: return try DDSLayout(dxgi: 34, alphaMode: 0)
        case 113: return try DDSLayout(dxgi: 10, alphaMode: 0)
        case 114: return try DDSLayout(dxgi: 41, alphaMode: 0)
        case 115: return try DDSLayout(dxgi: 16, alphaMode: 0)
        case 116: return try DDSLayout(dxgi: 2, alphaMode: 0)
        default:
            let letters = (0..<4).map { UInt8(truncatingIfNeeded: code >> (8 * $0)) }
            let isText = letters.allSatisfy { (0x21...0x7e).contains($0) }
            throw .unsupported("the DDS format \(isText ? String(decoding: letters, as: UTF8.self) : "\(code)")")
        }
    }

    // MARK: The header of Direct3D 10

    /// - Parameter alphaMode: 1 straight, 2 premultiplied, 3 opaque.
    init(dxgi number: Int, alphaMode: Int) throws(CoderError) {
        let alpha: PixelFormat.Alpha = alphaMode == 2 ? .premultiplied : alphaMode == 3 ? .opaque : .straight
        let rgba8 = PixelFormat(.rgba, alpha: alpha)
        func float(_ channels: PixelFormat.Channels, _ bits: Int) -> PixelFormat {
            PixelFormat(
                channels, bits: bits, numeric: .float, alpha: channels.hasAlpha ? alpha : PixelFormat.Alpha.none)
        }
        func masks(_ text: [Int], _ bits: Int) throws(CoderError) -> DDSLayout {
            let masks = try DDSMasks(text, bits: bits, isGray: false, hasAlpha: text[3] != 0, onlyAlpha: false)
            var format = masks.format
            if format.channels == .rgba { format.alpha = alpha }
            return DDSLayout(.masks(masks), format)
        }
        switch number {
        case 1, 2: self.init(.samples(4), float(.rgba, 32))
        case 5, 6: self.init(.samples(3), float(.rgb, 32))
        case 9, 10: self.init(.samples(4), float(.rgba, 16))
        case 11: self.init(.samples(4), PixelFormat(.rgba, bits: 16, alpha: alpha))
        case 16: self.init(.samples(2), float(.rgb, 32))
        case 34: self.init(.samples(2), float(.rgb, 16))
        case 35: self.init(.samples(2), .rgb16)
        case 41: self.init(.samples(1), float(.gray, 32))
        case 54: self.init(.samples(1), float(.gray, 16))
        case 56: self.init(.samples(1), .gray16)
        case 61: self.init(.samples(1), .gray8)
        case 49: self.init(.samples(2), .rgb8)
        case 24: self = try masks([0x3ff, 0x3ff << 10, 0x3ff << 20, 3 << 30], 32)
        case 27...29: self.init(.samples(4), rgba8)
        case 65:
            self = try DDSLayout(
                .masks(DDSMasks([0, 0, 0, 0xff], bits: 8, isGray: false, hasAlpha: true, onlyAlpha: true)), .grayAlpha8)
        case 70...72: self.init(.bc1, rgba8)
        case 73...75: self.init(.bc2, rgba8)
        case 76...78: self.init(.bc3, rgba8)
        case 79, 80: self.init(.bc4(isSigned: false), .gray8)
        case 81: self.init(.bc4(isSigned: true), .gray8)
        case 82, 83: self.init(.bc5(isSigned: false), .rgb8)
        case 84: self.init(.bc5(isSigned: true), .rgb8)
        case 85: self = try masks([0xf800, 0x7e0, 0x1f, 0], 16)
        case 86: self = try masks([0x7c00, 0x3e0, 0x1f, 0x8000], 16)
        case 115: self = try masks([0xf00, 0xf0, 0xf, 0xf000], 16)
        case 87, 90, 91: self = try masks([0xff_0000, 0xff00, 0xff, 0xff00_0000], 32)
        case 88, 92, 93: self = try masks([0xff_0000, 0xff00, 0xff, 0], 32)
        case 94, 95: self.init(.bc6h(isSigned: false), float(.rgb, 16))
        case 96: self.init(.bc6h(isSigned: true), float(.rgb, 16))
        case 97...99: self.init(.bc7, rgba8)
        default: throw .unsupported("the DXGI format \(number)")
        }
    }
}
