import CCoderPlugin

/// Pixels as 8-bit RGBA, for comparisons.
enum RGBA {
    static let format = cpi_pixel_format(
        channels: CPI_CHANNELS_RGBA, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: CPI_ALPHA_STRAIGHT, count: 0,
        layout: 0, reserved: 0)

    static func of(_ pixels: [UInt8], _ format: cpi_pixel_format) -> [UInt8] {
        let count = format.channelCount
        let size = Int(format.bits) / 8
        if count == 0 || size == 0 { return [] }
        var result: [UInt8] = []
        result.reserveCapacity(pixels.count / (count * size) * 4)
        for at in stride(from: 0, to: pixels.count - count * size + 1, by: count * size) {
            func sample(_ index: Int) -> UInt8 { value(pixels, at + index * size, format) }
            switch format.channels {
            case CPI_CHANNELS_GRAY: result += [sample(0), sample(0), sample(0), 255]
            case CPI_CHANNELS_GRAY_ALPHA: result += [sample(0), sample(0), sample(0), sample(1)]
            case CPI_CHANNELS_RGB: result += [sample(0), sample(1), sample(2), 255]
            case CPI_CHANNELS_RGBA: result += [sample(0), sample(1), sample(2), sample(3)]
            case CPI_CHANNELS_BGRA: result += [sample(2), sample(1), sample(0), sample(3)]
            default:
                let key = 255 - Int(sample(3))
                result += (0..<3).map { UInt8((255 - Int(sample($0))) * key / 255) } + [255]
            }
        }
        return result
    }

    /// One sample as 8 bits.
    private static func value(_ pixels: [UInt8], _ at: Int, _ format: cpi_pixel_format) -> UInt8 {
        if format.numeric == CPI_NUMERIC_UNORM { return format.bits == 8 ? pixels[at] : pixels[at + 1] }
        let bits = (0..<Int(format.bits) / 8).reduce(UInt32(0)) { $0 | UInt32(pixels[at + $1]) << (8 * UInt32($1)) }
        let number: Float
        if format.bits == 32 {
            number = Float(bitPattern: bits)
        } else {
            let exponent = Int(bits >> 10 & 31)
            let fraction = Float(bits & 0x3FF) / 1024
            number = exponent == 0 ? fraction / 16384 : (1 + fraction) * powerOfTwo(exponent - 15)
        }
        return number.isFinite ? UInt8(max(0, min(255, (number * 255).rounded()))) : 0
    }

    private static func powerOfTwo(_ exponent: Int) -> Float { Float(bitPattern: UInt32(exponent + 127) << 23) }

    /// Returns the largest mean square over the channels; ignores color where both pixels are transparent.
    static func meanSquare(_ a: [UInt8], _ b: [UInt8]) -> Double {
        if a.count != b.count || a.isEmpty { return a.count == b.count ? 0 : 65025 }
        var sum = 0
        for at in stride(from: 0, to: a.count, by: 4) {
            let isClear = a[at + 3] == 0 && b[at + 3] == 0
            for channel in isClear ? 3..<4 : 0..<4 {
                let difference = Int(a[at + channel]) - Int(b[at + channel])
                sum += difference * difference
            }
        }
        return Double(sum) / Double(a.count)
    }
}

/// Composites frames one after the other.
struct Canvas {
    private(set) var pixels: [UInt8]
    private let width: Int
    private let height: Int
    private var previous: [UInt8] = []
    private var last: cpi_frame_info?

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: 0, count: width * height * 4)
    }

    /// Draws the next frame.
    mutating func show(_ frame: DecodedFrame) {
        if let last {
            switch last.disposal {
            case CPI_DISPOSAL_BACKGROUND: draw(last.rect) { _, _ in [0, 0, 0, 0] }
            case CPI_DISPOSAL_PREVIOUS: pixels = previous
            default: break
            }
        }
        previous = pixels
        let source = RGBA.of(frame.pixels, frame.format)
        let rowBytes = Int(frame.info.rect.width) * 4
        draw(frame.info.rect) { at, below in
            let start = at.y * rowBytes + at.x * 4
            let color = Array(source[start..<start + 4])
            // The kit's own images are fully opaque or fully transparent.
            return frame.info.blend == CPI_BLEND_SOURCE || color[3] >= 128 ? color : below
        }
        last = frame.info
    }

    private mutating func draw(_ rect: cpi_rect, _ color: ((x: Int, y: Int), [UInt8]) -> [UInt8]) {
        for y in 0..<Int(rect.height) where 0..<height ~= y + Int(rect.y) {
            for x in 0..<Int(rect.width) where 0..<width ~= x + Int(rect.x) {
                let at = ((y + Int(rect.y)) * width + x + Int(rect.x)) * 4
                pixels.replaceSubrange(at..<at + 4, with: color((x, y), Array(pixels[at..<at + 4])))
            }
        }
    }
}
