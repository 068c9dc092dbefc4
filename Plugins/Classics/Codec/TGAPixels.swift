import CoderPluginKit
import ImageModel

/// Converts stored pixels of TGA.
struct TGAPixels {
    private enum Conversion { case copy, swapRGB, dropAlpha, five, fiveAlpha, palette }

    let format: PixelFormat
    private let conversion: Conversion
    private let indexBytes: Int
    private let first: Int
    /// The palette in `format`, one color after the other.
    private var palette: [UInt8] = []

    init(_ header: TGAHeader, _ session: DecoderSession) throws(CoderError) {
        indexBytes = header.pixelBytes
        first = header.map.first
        let depth = header.kind == .mapped ? header.map.depth : header.depth
        let alpha = header.kind == .gray && depth == 8 ? .none : try Self.alpha(depth, header, session)
        switch (header.kind, depth) {
        case (.gray, 8): (format, conversion) = (.gray8, .copy)
        case (.gray, _):
            (format, conversion) = (PixelFormat(.grayAlpha, alpha: alpha == .none ? .opaque : alpha), .copy)
        case (.mapped, _):
            conversion = .palette
            format = alpha == .none ? .rgb8 : PixelFormat(.rgba, alpha: alpha)
            var reader = ByteReader(session.source, at: header.mapStart)
            let bytes = try reader.bytes(header.pixelStart - header.mapStart)
            palette = Self.colors(bytes, depth: depth, hasAlpha: alpha != .none)
        case (.color, 24): (format, conversion) = (.rgb8, .swapRGB)
        case (.color, 32):
            (format, conversion) = alpha == .none ? (.rgb8, .dropAlpha) : (PixelFormat(.bgra, alpha: alpha), .copy)
        default:
            (format, conversion) =
                alpha == .none ? (.rgb8, .five) : (PixelFormat(.rgba, alpha: alpha), .fiveAlpha)
        }
    }

    /// Returns the meaning of the bits beside the colors.
    private static func alpha(
        _ depth: Int, _ header: TGAHeader, _ session: DecoderSession
    ) throws(CoderError) -> PixelFormat.Alpha {
        guard depth == 32 || depth == 16 else { return .none }
        // The end of the file may explain the bits.
        guard session.source.isComplete else { throw .needsInput }
        switch TGAHeader.attributesType(session.source) {
        case 4: return .premultiplied
        case 3: return .straight
        case .some(0..<3): return .none
        default: break
        }
        // Many programs write alpha in 32 bits and no number of attribute bits.
        return depth == 32 || header.attributeBits > 0 ? .straight : .none
    }

    private static func colors(_ bytes: [UInt8], depth: Int, hasAlpha: Bool) -> [UInt8] {
        var result: [UInt8] = []
        let step = (depth + 7) / 8
        for at in stride(from: 0, to: bytes.count - step + 1, by: step) {
            if step == 2 {
                let color = five(Int(bytes[at]) | Int(bytes[at + 1]) << 8)
                result += [color.0, color.1, color.2] + (hasAlpha ? [color.3] : [])
            } else {
                result +=
                    [bytes[at + 2], bytes[at + 1], bytes[at]] + (hasAlpha ? [step == 4 ? bytes[at + 3] : 255] : [])
            }
        }
        return result
    }

    /// Returns the samples of a pixel of 16 bits, rounded to 8 bits.
    private static func five(_ pixel: Int) -> (UInt8, UInt8, UInt8, UInt8) {
        func wide(_ value: Int) -> UInt8 { UInt8((value * 510 + 31) / 62) }
        return (
            wide(pixel >> 10 & 31), wide(pixel >> 5 & 31), wide(pixel & 31), pixel & 0x8000 != 0 ? 255 : 0
        )
    }

    /// Converts a row.
    func put(_ bytes: [UInt8], width: Int, isFromRight: Bool, into row: inout MutableRawSpan) {
        switch conversion {
        case .copy: copy(bytes, width: width, into: &row)
        case .swapRGB: swap(bytes, width: width, from: 3, into: &row)
        case .dropAlpha: swap(bytes, width: width, from: 4, into: &row)
        case .five, .fiveAlpha:
            let step = format.bytesPerPixel
            for x in 0..<width {
                let color = Self.five(Int(bytes[2 * x]) | Int(bytes[2 * x + 1]) << 8)
                row.storeBytes(of: color.0, toByteOffset: step * x, as: UInt8.self)
                row.storeBytes(of: color.1, toByteOffset: step * x + 1, as: UInt8.self)
                row.storeBytes(of: color.2, toByteOffset: step * x + 2, as: UInt8.self)
                if step == 4 { row.storeBytes(of: color.3, toByteOffset: 4 * x + 3, as: UInt8.self) }
            }
        case .palette: putIndices(bytes, width: width, into: &row)
        }
        if isFromRight { mirror(&row, width: width) }
    }

    private func copy(_ bytes: [UInt8], width: Int, into row: inout MutableRawSpan) {
        row.copy(bytes.span.extracting(0..<width * format.bytesPerPixel), toByteOffset: 0)
        guard format.alpha == .opaque else { return }
        for x in 1...width { row.storeBytes(of: 255, toByteOffset: x * format.bytesPerPixel - 1, as: UInt8.self) }
    }

    /// Stores blue, green and red as red, green and blue.
    private func swap(_ bytes: [UInt8], width: Int, from step: Int, into row: inout MutableRawSpan) {
        let source = bytes.span
        var x = 0
        // Four bytes at once; the fourth is overwritten by the next pixel.
        while x < width - 1 {
            let pixel = source.quad(at: step * x)
            let swapped = (pixel & 0xff) << 16 | pixel & 0xff00 | pixel >> 16 & 0xff
            row.storeBytes(of: swapped, toByteOffset: 3 * x, as: UInt32.self)
            x += 1
        }
        for channel in 0..<3 {
            row.storeBytes(of: source[step * x + 2 - channel], toByteOffset: 3 * x + channel, as: UInt8.self)
        }
    }

    private func putIndices(_ bytes: [UInt8], width: Int, into row: inout MutableRawSpan) {
        let step = format.bytesPerPixel
        for x in 0..<width {
            var index = Int(bytes[indexBytes * x])
            if indexBytes == 2 { index |= Int(bytes[2 * x + 1]) << 8 }
            let from = (index - first) * step
            for channel in 0..<step {
                // Black, as other readers have it, for a color that the palette does not have.
                let other: UInt8 = channel == 3 ? 255 : 0
                let value = from >= 0 && from < palette.count ? palette[from + channel] : other
                row.storeBytes(of: value, toByteOffset: step * x + channel, as: UInt8.self)
            }
        }
    }

    /// Reverses the order of the pixels.
    private func mirror(_ row: inout MutableRawSpan, width: Int) {
        let step = format.bytesPerPixel
        for x in 0..<width / 2 {
            for channel in 0..<step {
                let (left, right) = (step * x + channel, step * (width - 1 - x) + channel)
                let (a, b) = (row.bytes.byte(at: left), row.bytes.byte(at: right))
                row.storeBytes(of: b, toByteOffset: left, as: UInt8.self)
                row.storeBytes(of: a, toByteOffset: right, as: UInt8.self)
            }
        }
    }
}
