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
        let step = format.bytesPerPixel
        for column in 0..<width {
            let place = step * (isFromRight ? width - 1 - column : column)
            switch conversion {
            case .copy:
                for index in 0..<step {
                    row.storeBytes(of: bytes[step * column + index], toByteOffset: place + index, as: UInt8.self)
                }
                if format.alpha == .opaque {
                    row.storeBytes(of: 255, toByteOffset: place + step - 1, as: UInt8.self)
                }
            case .swapRGB, .dropAlpha:
                let at = (conversion == .swapRGB ? 3 : 4) * column
                for index in 0..<3 {
                    row.storeBytes(of: bytes[at + 2 - index], toByteOffset: place + index, as: UInt8.self)
                }
            case .five, .fiveAlpha:
                let color = Self.five(Int(bytes[2 * column]) | Int(bytes[2 * column + 1]) << 8)
                row.storeBytes(of: color.0, toByteOffset: place, as: UInt8.self)
                row.storeBytes(of: color.1, toByteOffset: place + 1, as: UInt8.self)
                row.storeBytes(of: color.2, toByteOffset: place + 2, as: UInt8.self)
                if conversion == .fiveAlpha { row.storeBytes(of: color.3, toByteOffset: place + 3, as: UInt8.self) }
            case .palette:
                var index = Int(bytes[indexBytes * column])
                if indexBytes == 2 { index |= Int(bytes[2 * column + 1]) << 8 }
                let from = (index - first) * step
                for channel in 0..<step {
                    // Black, as other readers have it, for a color that the palette does not have.
                    let isThere = from >= 0 && from < palette.count
                    let other: UInt8 = channel == 3 ? 255 : 0
                    row.storeBytes(
                        of: isThere ? palette[from + channel] : other, toByteOffset: place + channel, as: UInt8.self)
                }
            }
        }
    }
}
