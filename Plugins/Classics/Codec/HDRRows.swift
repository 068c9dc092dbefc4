import CoderPluginKit
import ImageModel
import Light

/// The rows of a Radiance HDR file: red, green and blue with a common exponent, as linear light.
///
/// The value of a sample is mantissa · 2^(exponent − 136), as most programs read it.
struct HDRRows: StoredRows {
    let info: ImageInfo
    let formats = LightSamples.formats(.rgb)
    private let isXYZ: Bool
    private var samples: LightSamples
    private let start: Int
    private var input: RowInput
    /// The pixels of a row: red, green, blue and exponent, one after the other.
    private var pixels: [UInt8]

    init(_ session: DecoderSession) throws(CoderError) {
        let header = try HDRHeader(session)
        isXYZ = header.isXYZ
        start = header.end
        input = RowInput(source: session.source, offset: start)
        samples = LightSamples(stops: session.options.real("hdr.exposure") ?? 0)
        var color = ColorDescription(codePoints: .sRGB)
        // The nearest exponent of the curve of sRGB.
        if let primaries = header.primaries { color = ColorDescription(gamma: 45_455, primaries: primaries) }
        info = ImageInfo(
            size: header.size, nativeFormat: formats[0], bitDepth: 32,
            orientation: header.orientation == .up ? nil : header.orientation, isLossy: true, color: color,
            decodesRows: true)
        pixels = []
    }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 else { return false }
        input.offset = start
        return true
    }

    mutating func choose(_ format: PixelFormat) { samples.isFloat = format.numeric == .float }

    var warning: String? { samples.warning }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let width = info.size.width
        if pixels.count != 4 * width { pixels = [UInt8](repeating: 0, count: 4 * width) }
        // Two bytes for each sample of a row in runs; eight are enough for old runs of one pixel.
        var stored = pixels
        pixels = []
        defer { pixels = stored }
        try input.read(upTo: 8 * width + 64) { bytes throws(CoderError) in
            try HDRRuns.decode(bytes, width: width, into: &stored)
        }
        for x in 0..<width {
            let (red, green, blue) = Self.light(stored, at: 4 * x)
            let color = isXYZ ? XYZColor.linear(red, green, blue) : (red, green, blue)
            samples.put(color.0, 3 * x, into: &row)
            samples.put(color.1, 3 * x + 1, into: &row)
            samples.put(color.2, 3 * x + 2, into: &row)
        }
    }

    private static func light(_ stored: [UInt8], at: Int) -> (Float, Float, Float) {
        let exponent = stored[at + 3]
        if exponent == 0 { return (0, 0, 0) }
        let factor = Float(sign: .plus, exponent: Int(exponent) - 136, significand: 1)
        return (Float(stored[at]) * factor, Float(stored[at + 1]) * factor, Float(stored[at + 2]) * factor)
    }
}

/// Colors in CIE XYZ.
enum XYZColor {
    /// Returns linear light with the primaries and the white of BT.709.
    ///
    /// - Source: IEC 61966-2-1, the inverse matrix.
    static func linear(_ x: Float, _ y: Float, _ z: Float) -> (Float, Float, Float) {
        (
            3.240_969_9 * x - 1.537_383_2 * y - 0.498_610_76 * z,
            -0.969_243_64 * x + 1.875_967_5 * y + 0.041_555_06 * z,
            0.055_630_08 * x - 0.203_976_96 * y + 1.056_971_5 * z
        )
    }
}
