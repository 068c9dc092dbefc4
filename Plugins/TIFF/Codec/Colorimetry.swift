/// The ways in which a TIFF stores CIE L*a*b*.
///
/// - Source: TIFF 6.0 section 23; Adobe's TIFF technical notes (ICC Lab); RFC 3949 section 5 (ITU Lab).
enum LabEncoding: Equatable {
    case cie, icc, itu

    /// Returns L*, a*, b* for stored samples.
    func value(_ l: UInt32, _ a: UInt32, _ b: UInt32, bits: Int) -> (Float, Float, Float) {
        let full = Float(bits == 8 ? 255 : 65_535)
        let step = Float(bits == 8 ? 1 : 256)
        switch self {
        case .cie:
            func signed(_ value: UInt32) -> Float {
                bits == 8
                    ? Float(Int8(truncatingIfNeeded: value)) : Float(Int16(truncatingIfNeeded: value)) / step
            }
            return (Float(l) / full * 100, signed(a), signed(b))
        case .icc:
            let white = Float(bits == 8 ? 255 : 65_280)
            return (Float(l) / white * 100, Float(a) / step - 128, Float(b) / step - 128)
        case .itu:
            return (Float(l) / full * 100, (Float(a) / step - 128) * 170 / 255, (Float(b) / step - 96) * 200 / 255)
        }
    }
}

/// Conversions to linear RGB with the primaries of sRGB.
enum Colorimetry {
    /// Converts L*a*b* under D50 to linear RGB under D65 (Bradford).
    static func rgb(lab l: Float, _ a: Float, _ b: Float) -> (Float, Float, Float) {
        func root(_ value: Float) -> Float {
            value > 6 / 29 ? value * value * value : 3 * (6 / 29) * (6 / 29) * (value - 4 / 29)
        }
        let y = (l + 16) / 116
        let (x, z) = (root(y + a / 500) * 0.9642, root(y - b / 200) * 0.8249)
        let w = root(y)
        return (
            3.133_856_1 * x - 1.616_866_7 * w - 0.490_614_6 * z, -0.978_768_4 * x + 1.916_141_5 * w + 0.033_454 * z,
            0.071_945_3 * x - 0.228_991_4 * w + 1.405_242_7 * z
        )
    }

    /// Converts XYZ relative to the equal-energy white of LogLuv to linear RGB.
    static func rgb(xyz x: Float, _ y: Float, _ z: Float) -> (Float, Float, Float) {
        (
            2.689_655_2 * x - 1.275_862_1 * y - 0.413_793_1 * z,
            -1.022_108_2 * x + 1.978_286_6 * y + 0.043_821_6 * z,
            0.061_224_5 * x - 0.224_489_8 * y + 1.163_265_3 * z
        )
    }
}
