import CoderHost
public import ImageModel
import ImageProcessing

/// A digest that compares the pixels of all decoders.
///
/// - Shape: SHA-256 of RGBA, 8 bits, straight alpha, rows from the top without padding; samples of 16 bits by `>> 8`,
///   color 0 where alpha is 0. Orientation is not applied and colors are not managed.
public enum PixelDigest {
    /// Returns the digest in lower-case hexadecimal digits.
    public static func of(_ buffer: PixelBuffer) -> String {
        SHA256.hexDigest(of: rgba8(buffer, hidingTransparentColor: true))
    }

    /// Returns the pixels as RGBA with 8 bits.
    ///
    /// The format must have integer samples, no CMYK and no premultiplied alpha. For other formats the digest would
    /// depend on a conversion.
    public static func rgba8(_ buffer: PixelBuffer, hidingTransparentColor: Bool = false) -> [UInt8] {
        let format = buffer.format
        precondition(format.isValid && format.numeric == .unorm, "\(format) has no digest")
        precondition(format.channels != .cmyk && format.alpha != .premultiplied, "\(format) has no digest")
        let places = places(format.channels)
        var all: [UInt8] = []
        all.reserveCapacity(buffer.size.width * buffer.size.height * 4)
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { row in
                for pixel in stride(from: 0, to: row.byteCount, by: format.bytesPerPixel) {
                    func sample(_ place: Int) -> UInt8 {
                        format.bits == 8
                            ? row.byte(at: pixel + place)
                            : UInt8(row.native(at: pixel + place * 2, as: UInt16.self) >> 8)
                    }
                    let alpha = places.alpha.map(sample) ?? 255
                    if alpha == 0 && hidingTransparentColor {
                        all += [0, 0, 0, 0]
                    } else {
                        all += [sample(places.red), sample(places.green), sample(places.blue), alpha]
                    }
                }
            }
        }
        return all
    }

    /// Returns the index of each channel in a pixel.
    private static func places(_ channels: PixelFormat.Channels) -> (red: Int, green: Int, blue: Int, alpha: Int?) {
        switch channels {
        case .gray: (0, 0, 0, nil)
        case .grayAlpha: (0, 0, 0, 1)
        case .rgb: (0, 1, 2, nil)
        case .bgra: (2, 1, 0, 3)
        case .rgba, .cmyk: (0, 1, 2, 3)
        }
    }
}
