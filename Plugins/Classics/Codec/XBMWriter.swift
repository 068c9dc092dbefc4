import CoderPluginKit
import ImageModel

/// Writes XBM: black and white as C source, by error diffusion.
///
/// - Source: R. W. Floyd, L. Steinberg, Proceedings of the Society for Information Display 17 (1976).
struct XBMWriter: RowWriter {
    private let info: ImageInfo
    private let dithers: Bool
    /// The errors that this row and the next one receive, in sixteenths; one place more at both ends.
    private var errors: [Int]
    private var isFirst = true

    static func formats(for info: ImageInfo) -> [PixelFormat] { [.gray8] }

    init(_ info: ImageInfo, _ session: EncoderSession) throws(CoderError) {
        self.info = info
        dithers = session.options.string("xbm.dither") != "none"
        errors = [Int](repeating: 0, count: info.size.width + 2)
    }

    func header() -> [UInt8] {
        Array(
            """
            #define image_width \(info.size.width)
            #define image_height \(info.size.height)
            static unsigned char image_bits[] = {

            """.utf8)
    }

    mutating func write(_ row: RawSpan, to output: inout [UInt8]) {
        var below = [Int](repeating: 0, count: errors.count)
        var (bits, carried) = (0, 0)
        for x in 0..<row.byteCount {
            let gray = Int(row.byte(at: x)) + (dithers ? (errors[x + 1] + carried) / 16 : 0)
            let isBlack = gray < 128
            let error = gray - (isBlack ? 0 : 255)
            carried = 7 * error
            below[x] += 3 * error
            below[x + 1] += 5 * error
            below[x + 2] += error
            if isBlack { bits |= 1 << (x % 8) }
            if x % 8 == 7 || x == row.byteCount - 1 {
                append(bits, isNewLine: x < 8, to: &output)
                bits = 0
            }
        }
        errors = below
    }

    private mutating func append(_ bits: Int, isNewLine: Bool, to output: inout [UInt8]) {
        if !isFirst { output += Array((isNewLine ? ",\n" : ",").utf8) }
        isFirst = false
        let digits = Array("0123456789abcdef".utf8)
        output += Array(" 0x".utf8) + [digits[bits >> 4], digits[bits & 15]]
    }

    mutating func finish(_ output: inout [UInt8]) { output += Array(" };\n".utf8) }
}
