import CoderPluginKit
import ImageModel
import Light

/// Writes Radiance HDR: linear light, each row packed sample by sample.
struct HDRWriter: RowWriter {
    private let info: ImageInfo
    private let light: LightRow
    private var stored: [[UInt8]] = []

    static func formats(for info: ImageInfo) -> [PixelFormat] { LightRow.formats(.rgb, for: info) }

    init(_ info: ImageInfo, _ session: EncoderSession) throws(CoderError) {
        self.info = info
        light = try LightRow(info.color)
        stored = [[UInt8]](repeating: [UInt8](repeating: 0, count: info.size.width), count: 4)
        if ![1, 9, 12].contains(light.primaries) {
            session.host.warn("the primaries \(light.primaries) of the colors are not stated in the file")
        }
    }

    /// The chromaticities of primaries other than the usual ones, by ITU-T H.273.
    private var primaries: String? {
        switch light.primaries {
        case 9: "0.708 0.292 0.170 0.797 0.131 0.046 0.3127 0.3290"
        case 12: "0.680 0.320 0.265 0.690 0.150 0.060 0.3127 0.3290"
        default: nil
        }
    }

    func header() -> [UInt8] {
        let line = primaries.map { "PRIMARIES=\($0)\n" } ?? ""
        let sides = "-Y \(info.size.height) +X \(info.size.width)"
        return Array("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\(line)\n\(sides)\n".utf8)
    }

    mutating func write(_ row: RawSpan, to output: inout [UInt8]) {
        let width = info.size.width
        for x in 0..<width {
            let pixel = Self.rgbe(
                light.light(row, 3 * x, info.nativeFormat), light.light(row, 3 * x + 1, info.nativeFormat),
                light.light(row, 3 * x + 2, info.nativeFormat))
            (stored[0][x], stored[1][x], stored[2][x], stored[3][x]) = pixel
        }
        guard (8...0x7fff).contains(width) else {
            for x in 0..<width { output += [stored[0][x], stored[1][x], stored[2][x], stored[3][x]] }
            return
        }
        output += [2, 2, UInt8(width >> 8), UInt8(width & 255)]
        for channel in stored { Self.pack(channel, to: &output) }
    }

    /// Returns the mantissas and the exponent of a color; values below 0 and those that are no numbers become 0.
    static func rgbe(_ red: Float, _ green: Float, _ blue: Float) -> (UInt8, UInt8, UInt8, UInt8) {
        let colors = [red, green, blue].map { $0 > 0 ? min($0, 0x1p126) : 0 }
        let most = max(colors[0], colors[1], colors[2])
        guard most > 1e-32 else { return (0, 0, 0, 0) }
        var exponent = Int(most.exponent) + 1
        // Rounding must not reach 256.
        if (most * Float(sign: .plus, exponent: 8 - exponent, significand: 1)).rounded() > 255 { exponent += 1 }
        let factor = Float(sign: .plus, exponent: 8 - exponent, significand: 1)
        func mantissa(_ value: Float) -> UInt8 { UInt8((value * factor).rounded()) }
        return (mantissa(colors[0]), mantissa(colors[1]), mantissa(colors[2]), UInt8(exponent + 128))
    }

    /// Packs one channel of a row: runs of at least four equal bytes, and other bytes.
    private static func pack(_ bytes: [UInt8], to output: inout [UInt8]) {
        var at = 0
        while at < bytes.count {
            var end = at
            // The next run that is worth it.
            var run = 0
            while end < bytes.count, end - at < 128 {
                run = 1
                while end + run < bytes.count, run < 127, bytes[end + run] == bytes[end] { run += 1 }
                if run >= 4 { break }
                end = min(end + run, at + 128)
            }
            if end > at {
                output.append(UInt8(end - at))
                output += bytes[at..<end]
                at = end
            }
            if run >= 4, end < bytes.count, at == end {
                output.append(UInt8(128 + run))
                output.append(bytes[at])
                at += run
            }
        }
    }

    mutating func finish(_ output: inout [UInt8]) {}
}
