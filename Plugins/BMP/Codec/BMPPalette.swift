import CoderPluginKit
import ImageModel

/// The colors of a bitmap with up to 8 bits per pixel, as red, green, blue.
struct BMPPalette {
    /// 256 colors of three bytes; those that the file does not have are black.
    private(set) var bytes = [UInt8](repeating: 0, count: 768)
    /// The number of colors in the file.
    private(set) var count = 0

    /// Reads the colors at the position of `reader`.
    ///
    /// - Parameter end: the start of the pixels, if the colors must end there.
    init(_ header: BMPHeader, _ reader: inout ByteReader, end: Int?) throws(CoderError) {
        let most = 1 << header.depth
        count = header.colorCount == 0 || header.isCore ? most : min(most, header.colorCount)
        // Short palettes occur: the pixels begin where the file says.
        if let end, end > reader.offset { count = min(count, (end - reader.offset) / header.colorBytes) }
        let stored = try reader.bytes(count * header.colorBytes)
        for color in 0..<count {
            for channel in 0..<3 { bytes[3 * color + channel] = stored[color * header.colorBytes + 2 - channel] }
        }
    }

    /// Whether no color has a hue.
    var isGray: Bool {
        (0..<256).allSatisfy { color in
            let (red, green, blue) = (bytes[3 * color], bytes[3 * color + 1], bytes[3 * color + 2])
            return red == green && green == blue
        }
    }
}
