internal import CoderPluginKit
internal import Glibc
package import ImageModel

/// Makes linear light of samples, for the formats that hold nothing else.
package struct LightRow {
    private enum Curve { case linear, sRGB, video, power(Float) }

    private let curve: Curve
    /// The primaries of the samples, by ITU-T H.273; 1 are those of sRGB.
    package let primaries: UInt8

    /// - Throws: `.unsupported` for samples whose light is not known.
    package init(_ color: ColorDescription) throws(CoderError) {
        primaries = color.codePoints.map { $0.primaries == 2 ? 1 : $0.primaries } ?? 1
        switch color.codePoints?.transfer {
        case 8: curve = .linear
        case nil, 2, 13: curve = .sRGB
        case 1, 6, 14, 15: curve = .video
        case 4: curve = .power(2.2)
        case 5: curve = .power(2.8)
        case .some(let number): throw .unsupported("linear light of the transfer function \(number)")
        }
    }

    /// Returns the light of a sample; values below 0 are mirrored.
    package func light(_ sample: Float) -> Float {
        switch curve {
        case .linear: return sample
        case .sRGB:
            let size = abs(sample)
            let light = size <= 0.040_45 ? size / 12.92 : powf((size + 0.055) / 1.055, 2.4)
            return sample < 0 ? -light : light
        case .video:
            let size = abs(sample)
            let light = size < 0.081_242_86 ? size / 4.5 : powf((size + 0.099_296_83) / 1.099_296_8, 1 / 0.45)
            return sample < 0 ? -light : light
        case .power(let exponent):
            return sample < 0 ? -powf(-sample, exponent) : powf(sample, exponent)
        }
    }

    /// Returns the formats with these channels that the writers take: floats, or integers as they are.
    package static func formats(_ channels: PixelFormat.Channels, for info: ImageInfo) -> [PixelFormat] {
        if info.nativeFormat.numeric == .float { return [PixelFormat(channels, bits: 32, numeric: .float)] }
        return [PixelFormat(channels, bits: info.nativeFormat.bits)]
    }

    /// Returns the light at an index of a row of samples.
    package func light(_ row: RawSpan, _ index: Int, _ format: PixelFormat) -> Float {
        switch (format.numeric, format.bits) {
        case (.unorm, 8): light(Float(row.byte(at: index)) / 255)
        case (.unorm, _):
            light(Float(UInt16(row.byte(at: 2 * index)) | UInt16(row.byte(at: 2 * index + 1)) << 8) / 65_535)
        default: light(Self.sample(row, index))
        }
    }

    /// Returns the sample at an index of a row of floats.
    package static func sample(_ row: RawSpan, _ index: Int) -> Float {
        var bits = UInt32(row.byte(at: 4 * index)) | UInt32(row.byte(at: 4 * index + 1)) << 8
        bits |= UInt32(row.byte(at: 4 * index + 2)) << 16 | UInt32(row.byte(at: 4 * index + 3)) << 24
        return Float(bitPattern: bits)
    }
}
