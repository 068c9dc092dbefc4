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
    /// The sample of each exponent and mantissa.
    private var words: [UInt16] = []
    /// Whether the light of an exponent can be above 1.
    private enum Range { case unknown, within, mayExceed }
    private var ranges = [Range](repeating: .unknown, count: 256)

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
        if isXYZ {
            putXYZ(stored, width, into: &row)
        } else if samples.isFloat {
            putFloats(stored, width, into: &row)
        } else {
            putWords(stored, width, into: &row)
        }
    }

    /// The factor of each exponent; 0 stands for black.
    private static let factors: [Float] = (0..<256).map { exponent in
        exponent == 0 ? 0 : Float(sign: .plus, exponent: exponent - 136, significand: 1)
    }

    private mutating func putXYZ(_ stored: [UInt8], _ width: Int, into row: inout MutableRawSpan) {
        for x in 0..<width {
            let factor = Self.factors[Int(stored[4 * x + 3])]
            func light(_ channel: Int) -> Float { Float(stored[4 * x + channel]) * factor }
            let color = XYZColor.linear(light(0), light(1), light(2))
            samples.put(color.0, 3 * x, into: &row)
            samples.put(color.1, 3 * x + 1, into: &row)
            samples.put(color.2, 3 * x + 2, into: &row)
        }
    }

    private mutating func putFloats(_ stored: [UInt8], _ width: Int, into row: inout MutableRawSpan) {
        for x in 0..<width {
            let factor = Self.factors[Int(stored[4 * x + 3])]
            for channel in 0..<3 { samples.put(Float(stored[4 * x + channel]) * factor, 3 * x + channel, into: &row) }
        }
    }

    /// Computes the samples of an exponent when it first occurs, and notes light that is cut off.
    private mutating func note(_ pixel: UInt32, _ exponent: Int, _ words: inout [UInt16]) {
        let factor = Self.factors[exponent] * samples.factor
        if ranges[exponent] == .unknown {
            for mantissa in 0..<256 {
                words[exponent << 8 | mantissa] = LightSamples.sample(Float(mantissa) * factor)
            }
            ranges[exponent] = LightSamples.isOutside(255 * factor) ? .mayExceed : .within
        }
        let most = max(pixel & 0xff, pixel >> 8 & 0xff, pixel >> 16 & 0xff)
        if LightSamples.isOutside(Float(most) * factor) { samples.noteCut() }
    }

    /// Looks the samples up.
    private mutating func putWords(_ stored: [UInt8], _ width: Int, into row: inout MutableRawSpan) {
        var words = self.words
        self.words = []
        defer { self.words = words }
        if words.isEmpty { words = [UInt16](repeating: 0, count: 1 << 16) }
        let source = stored.span
        for x in 0..<width {
            let pixel = source.quad(at: 4 * x)
            let exponent = Int(pixel >> 24)
            if ranges[exponent] != .within { note(pixel, exponent, &words) }
            let table = words.span.extracting(exponent << 8..<(exponent + 1) << 8)
            row.storeBytes(of: table[Int(pixel & 0xff)], toByteOffset: 6 * x, as: UInt16.self)
            row.storeBytes(of: table[Int(pixel >> 8 & 0xff)], toByteOffset: 6 * x + 2, as: UInt16.self)
            row.storeBytes(of: table[Int(pixel >> 16 & 0xff)], toByteOffset: 6 * x + 4, as: UInt16.self)
        }
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
