import CoderPluginKit
import ImageModel
import Light

/// The rows of one level of one image of a DDS file.
struct DDSRows: StoredRows {
    let info: ImageInfo
    private let layout: DDSLayout
    private let source: ByteSource
    private let start: Int
    private var row = 0
    /// Four decoded rows of blocks, and their number.
    private var band: [UInt8] = []
    private var bandNumber = -1
    private var samples = LightSamples()

    init(_ session: DecoderSession) throws(CoderError) {
        self.init(session, try DDSHeader(session), image: 0, level: 0)
    }

    init(_ session: DecoderSession, _ header: DDSHeader, image: Int, level: Int) {
        layout = header.layout
        source = session.source
        start = header.offset(image: image, level: level)
        info = ImageInfo(
            size: header.size(level: level), nativeFormat: layout.format,
            bitDepth: max(layout.format.bits, layout.floatBits),
            isLossy: layout.isBlocks, color: layout.color, hasItems: header.images > 1, decodesRows: true)
    }

    mutating func begin(atRow row: Int) -> Bool {
        self.row = row
        return true
    }

    mutating func next(_ target: inout MutableRawSpan) throws(CoderError) {
        let count = layout.rowBytes(info.size.width)
        let number = layout.isBlocks ? row / 4 : row
        if !layout.isBlocks || number != bandNumber {
            let place = start + number * count
            try ByteReader(source, at: place).require(count)
            if layout.isBlocks {
                decodeBlocks(place, count)
                bandNumber = number
            } else {
                var samples = self.samples
                let layout = self.layout
                source.withBytes(place..<place + count) { bytes in
                    if layout.floatBits > 0 {
                        Self.putLight(layout, bytes, &samples, into: &target)
                    } else {
                        put(bytes, into: &target)
                    }
                }
                self.samples = samples
            }
        }
        if case .bc6h = layout.kind {
            let count = 3 * info.size.width
            for index in 0..<count {
                let at = 2 * (row % 4 * count + index)
                let light = Self.float(UInt16(band[at]) | UInt16(band[at + 1]) << 8)
                samples.put(light, index, into: &target)
            }
        } else if layout.isBlocks {
            let from = row % 4 * target.byteCount
            for at in 0..<target.byteCount { target.storeBytes(of: band[from + at], toByteOffset: at, as: UInt8.self) }
        }
        row += 1
    }

    var warning: String? { samples.warning }

    // MARK: Floats

    /// Converts a half-precision number.
    static func float(_ half: UInt16) -> Float {
        let sign: Float = half & 0x8000 != 0 ? -1 : 1
        let (exponent, mantissa) = (Int(half >> 10 & 31), Float(half & 0x3ff))
        if exponent == 31 { return mantissa == 0 ? sign * .infinity : .nan }
        let size =
            exponent == 0
            ? mantissa * 0x1p-24
            : (1 + mantissa * 0x1p-10) * Float(sign: .plus, exponent: exponent - 15, significand: 1)
        return sign * size
    }

    private static func putLight(
        _ layout: DDSLayout, _ bytes: RawSpan, _ samples: inout LightSamples, into row: inout MutableRawSpan
    ) {
        guard case .samples(let stored) = layout.kind else { return }
        let channels = layout.format.channels.count
        let size = layout.floatBits / 8
        for x in 0..<bytes.byteCount / (stored * size) {
            for channel in 0..<channels {
                let at = size * (stored * x + channel)
                var value: Float = 0
                if channel < stored {
                    value =
                        size == 2
                        ? float(UInt16(bytes.byte(at: at)) | UInt16(bytes.byte(at: at + 1)) << 8)
                        : LightRow.sample(bytes, at / 4)
                }
                let index = channels * x + channel
                if channel == 3 {
                    let alpha = layout.format.alpha == .opaque ? 1 : min(1, max(0, value.isNaN ? 0 : value))
                    row.storeBytes(of: UInt16((alpha * 65_535).rounded()), toByteOffset: 2 * index, as: UInt16.self)
                } else {
                    samples.put(value, index, into: &row)
                }
            }
        }
    }

    // MARK: Blocks

    private mutating func decodeBlocks(_ place: Int, _ count: Int) {
        let step = layout.format.bytesPerPixel
        let width = info.size.width
        var band = self.band
        self.band = []
        if band.isEmpty { band = [UInt8](repeating: 0, count: 4 * width * step) }
        let (layout, blockBytes) = (self.layout, self.layout.blockBytes)
        source.withBytes(place..<place + count) { bytes in
            var block = [UInt8](repeating: 0, count: 16 * step)
            var halves = [UInt16](repeating: 0, count: 48)
            for column in 0..<(width + 3) / 4 {
                Self.decode(layout, bytes, column * blockBytes, &block, &halves)
                let columns = min(4, width - 4 * column)
                for y in 0..<4 {
                    let to = (y * width + 4 * column) * step
                    for at in 0..<columns * step { band[to + at] = block[4 * y * step + at] }
                }
            }
        }
        self.band = band
    }

    private static func decode(
        _ layout: DDSLayout, _ bytes: RawSpan, _ at: Int, _ block: inout [UInt8], _ halves: inout [UInt16]
    ) {
        switch layout.kind {
        case .bc1: ColorBlocks.colors(bytes, at: at, hasThree: true, into: &block)
        case .bc2:
            ColorBlocks.colors(bytes, at: at + 8, hasThree: false, into: &block)
            ColorBlocks.plainAlpha(bytes, at: at, into: &block)
        case .bc3:
            ColorBlocks.colors(bytes, at: at + 8, hasThree: false, into: &block)
            ColorBlocks.values(bytes, at: at, isSigned: false, into: &block, from: 3, step: 4)
        case .redInAlpha:
            ColorBlocks.colors(bytes, at: at + 8, hasThree: false, into: &block)
            ColorBlocks.values(bytes, at: at, isSigned: false, into: &block, from: 0, step: 4)
        case .bc4(let isSigned): ColorBlocks.values(bytes, at: at, isSigned: isSigned, into: &block, from: 0, step: 1)
        case .bc5(let isSigned):
            ColorBlocks.values(bytes, at: at, isSigned: isSigned, into: &block, from: 0, step: 3)
            ColorBlocks.values(bytes, at: at + 8, isSigned: isSigned, into: &block, from: 1, step: 3)
            // The missing blue is 0, which is the middle of signed values.
            for pixel in 0..<16 { block[3 * pixel + 2] = isSigned ? 128 : 0 }
        case .bc6h(let isSigned):
            BC6HBlock.decode(bytes, at: at, isSigned: isSigned, into: &halves)
            for (index, half) in halves.enumerated() {
                block[2 * index] = UInt8(half & 255)
                block[2 * index + 1] = UInt8(half >> 8)
            }
        case .bc7: BC7Block.decode(bytes, at: at, into: &block)
        case .masks, .samples, .palette: break
        }
        if layout.format.alpha == .opaque { for pixel in 0..<16 { block[4 * pixel + 3] = 255 } }
    }

    // MARK: Pixels

    private func put(_ bytes: RawSpan, into row: inout MutableRawSpan) {
        let step = layout.format.bytesPerPixel
        let size = layout.format.bytesPerSample
        for x in 0..<info.size.width {
            switch layout.kind {
            case .masks(let masks):
                var pixel = 0
                for at in 0..<masks.byteCount { pixel |= Int(bytes.byte(at: masks.byteCount * x + at)) << (8 * at) }
                for (channel, value) in masks.values(pixel).enumerated() {
                    if size == 1 {
                        row.storeBytes(of: UInt8(value), toByteOffset: step * x + channel, as: UInt8.self)
                    } else {
                        row.storeBytes(of: UInt16(value), toByteOffset: step * x + 2 * channel, as: UInt16.self)
                    }
                }
            case .samples(let channels):
                // Samples are in the order of this machine; missing colors are 0.
                for at in 0..<step {
                    let value = at < channels * size ? bytes.byte(at: channels * size * x + at) : 0
                    row.storeBytes(of: value, toByteOffset: step * x + at, as: UInt8.self)
                }
                if layout.format.alpha == .opaque { putOpaque(&row, at: step * (x + 1) - size) }
            default:
                let index = Int(bytes.byte(at: x))
                for channel in 0..<4 {
                    row.storeBytes(
                        of: layout.palette[4 * index + channel], toByteOffset: 4 * x + channel, as: UInt8.self)
                }
            }
        }
    }

    /// Stores a sample of 1.
    private func putOpaque(_ row: inout MutableRawSpan, at offset: Int) {
        switch layout.format.bits {
        case 8: row.storeBytes(of: 255, toByteOffset: offset, as: UInt8.self)
        default: row.storeBytes(of: 0xffff, toByteOffset: offset, as: UInt16.self)
        }
    }
}
