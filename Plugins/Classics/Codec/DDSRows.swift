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
            let start = row % 4 * bandRowBytes
            let isCut = Self.putHalves(band, from: start, count: 3 * info.size.width, into: &target)
            if isCut { samples.noteCut() }
        } else if layout.isBlocks {
            let from = row % 4 * bandRowBytes
            let count = info.size.width * layout.format.bytesPerPixel
            target.copy(band.span.extracting(from..<from + count), toByteOffset: 0)
        }
        row += 1
    }

    var warning: String? { samples.warning }

    // MARK: Floats

    /// Converts a half-precision number.
    static func float(_ half: UInt16) -> Float {
        if half & 0x7fff > 0x7c00 { return .nan }
        // The exponent of a float has another origin; the largest one stands for infinity.
        let size = half & 0x7fff == 0x7c00 ? .infinity : Float(bitPattern: UInt32(half & 0x7fff) << 13) * 0x1p112
        return half & 0x8000 != 0 ? -size : size
    }

    /// The 16-bit samples of all half-precision numbers.
    private static let words: [UInt16] = (0...UInt16.max).map { LightSamples.sample(float($0)) }
    /// The largest half-precision number that a sample can hold; minus zero is one, too.
    private static let most: UInt16 = 0x3c01

    /// Converts half-precision numbers; returns whether light was cut off.
    private static func putHalves(
        _ bytes: [UInt8], from start: Int, count: Int, into target: inout MutableRawSpan
    ) -> Bool {
        let (words, bytes) = (words.span, bytes.span)
        var isCut = false
        for index in 0..<count {
            let at = start &+ 2 &* index
            let half = UInt16(bytes[at]) | UInt16(bytes[at &+ 1]) &<< 8
            isCut = isCut || half > most && half != 0x8000
            target.storeBytes(of: words[Int(half)], toByteOffset: 2 &* index, as: UInt16.self)
        }
        return isCut
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

    /// The bytes of a row of the band, which holds whole blocks.
    private var bandRowBytes: Int { (info.size.width + 3) / 4 * 4 * layout.format.bytesPerPixel }

    private mutating func decodeBlocks(_ place: Int, _ count: Int) {
        var band = self.band
        self.band = []
        if band.isEmpty { band = [UInt8](repeating: 0, count: 4 * bandRowBytes) }
        let layout = self.layout
        let step = layout.format.bytesPerPixel
        var block = BlockPlace(offset: 0, rowBytes: bandRowBytes, pixelBytes: step)
        source.withBytes(place..<place + count) { bytes in
            var target = band.mutableSpan
            for at in stride(from: 0, to: count, by: layout.blockBytes) {
                Self.decode(layout, bytes, at, into: &target, block)
                block.offset += 4 * step
            }
        }
        self.band = band
    }

    private static func decode(
        _ layout: DDSLayout, _ bytes: RawSpan, _ at: Int, into target: inout MutableSpan<UInt8>, _ place: BlockPlace
    ) {
        switch layout.kind {
        case .bc1: ColorBlocks.colors(bytes, at: at, hasThree: true, into: &target, place)
        case .bc2:
            ColorBlocks.colors(bytes, at: at + 8, hasThree: false, into: &target, place)
            ColorBlocks.plainAlpha(bytes, at: at, into: &target, place)
        case .bc3:
            ColorBlocks.colors(bytes, at: at + 8, hasThree: false, into: &target, place)
            ColorBlocks.values(bytes, at: at, isSigned: false, into: &target, place, channel: 3)
        case .redInAlpha:
            ColorBlocks.colors(bytes, at: at + 8, hasThree: false, into: &target, place)
            ColorBlocks.values(bytes, at: at, isSigned: false, into: &target, place, channel: 0)
        case .bc4(let isSigned):
            ColorBlocks.values(bytes, at: at, isSigned: isSigned, into: &target, place, channel: 0)
        case .bc5(let isSigned):
            ColorBlocks.values(bytes, at: at, isSigned: isSigned, into: &target, place, channel: 0)
            ColorBlocks.values(bytes, at: at + 8, isSigned: isSigned, into: &target, place, channel: 1)
            // The missing blue is 0, which is the middle of signed values.
            ColorBlocks.put(into: &target, place, channel: 2) { _ in isSigned ? 128 : 0 }
        case .bc6h(let isSigned): BC6HBlock.decode(bytes, at: at, isSigned: isSigned, into: &target, place)
        case .bc7: BC7Block.decode(bytes, at: at, into: &target, place)
        case .masks, .samples, .palette: break
        }
        if layout.format.alpha == .opaque { ColorBlocks.put(into: &target, place, channel: 3) { _ in 255 } }
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
