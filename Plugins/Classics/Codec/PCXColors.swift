import CoderPluginKit
import ImageModel

/// The meaning of the planes of a PCX file.
struct PCXColors {
    let bits: Int
    let planes: Int
    let format: PixelFormat
    /// Red, green and blue of each index; empty if the samples are values.
    private var palette: [UInt8] = []
    /// The position of a palette behind the pixels; nil if there is none.
    private(set) var paletteStart: Int?

    /// The 16 colors of the first adapters, for files without a palette.
    private static let standard: [UInt8] = [
        0, 0, 0, 0, 0, 170, 0, 170, 0, 0, 170, 170, 170, 0, 0, 170, 0, 170, 170, 85, 0, 170, 170, 170, 85, 85, 85, 85,
        85,
        255, 85, 255, 85, 85, 255, 255, 255, 85, 85, 255, 85, 255, 255, 255, 85, 255, 255, 255,
    ]

    /// - Parameter header: the palette of 16 colors in the header.
    init(
        bits: Int, planes: Int, version: Int, paletteKind: Int, header: [UInt8], _ session: DecoderSession
    ) throws(CoderError) {
        (self.bits, self.planes) = (bits, planes)
        switch (bits, planes) {
        case (1, 1): format = .gray8
        case (8, 3): format = .rgb8
        case (8, 4): format = .rgba8
        case (8, 1):
            if let colors = try Self.tail(session) {
                palette = colors
                paletteStart = session.source.available - 769
                format = .rgb8
            } else {
                guard paletteKind == 2 else { throw .truncated("the palette behind the pixels is missing") }
                format = .gray8
            }
        case (1, 2...4), (2, 1...2), (4, 1):
            palette = version == 3 ? Self.standard : header
            format = .rgb8
        default: throw .unsupported("PCX with \(planes) planes of \(bits) bits")
        }
    }

    var bitDepth: Int { bits == 1 && planes == 1 ? 1 : 8 }

    /// Returns the palette of 256 colors behind the pixels; nil if there is none.
    private static func tail(_ session: DecoderSession) throws(CoderError) -> [UInt8]? {
        let source = session.source
        guard source.isComplete else { throw .needsInput }
        let start = source.available - 769
        guard start >= 128, source[start] == 0x0c else { return nil }
        return source.bytes(start + 1..<start + 769)
    }

    /// Converts a row.
    func put(_ stored: [UInt8], planeBytes: Int, width: Int, into row: inout MutableRawSpan) {
        if bits == 8, planes > 1 {
            for plane in 0..<planes {
                let samples = stored.span.extracting(plane * planeBytes..<(plane + 1) * planeBytes)
                for x in 0..<min(width, planeBytes) {
                    row.storeBytes(of: samples[x], toByteOffset: planes * x + plane, as: UInt8.self)
                }
                for x in min(width, planeBytes)..<width {
                    row.storeBytes(of: 0, toByteOffset: planes * x + plane, as: UInt8.self)
                }
            }
            return
        }
        for x in 0..<width {
            var index = 0
            let mask = (1 << bits) - 1
            for plane in 0..<planes where x * bits / 8 < planeBytes {
                let byte = Int(stored[plane * planeBytes + x * bits / 8])
                index |= (byte >> (8 - bits - x * bits % 8) & mask) << (plane * bits)
            }
            if palette.isEmpty {
                row.storeBytes(of: bits == 1 ? UInt8(index * 255) : UInt8(index), toByteOffset: x, as: UInt8.self)
                continue
            }
            for channel in 0..<3 {
                row.storeBytes(of: palette[3 * index + channel], toByteOffset: 3 * x + channel, as: UInt8.self)
            }
        }
    }
}
