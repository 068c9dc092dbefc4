import Glibc

/// The sRGB transfer curve as tables for ``FloatEngine``.
///
/// - Source: IEC 61966-2-1, 5.2 and 5.3.
enum SRGBCurve {
    /// PIXEL_CURVE_STEPS of resample_float.h.
    static let steps = 16_384

    static let toLinear: [Float] = (0...steps).map { Float(linear(Double($0) / Double(steps))) }
    static let fromLinear: [Float] = (0...steps).map { Float(stored(Double($0) / Double(steps))) }

    /// Returns the light of a stored value.
    static func linear(_ value: Double) -> Double {
        value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    /// Returns the stored value of light.
    static func stored(_ light: Double) -> Double {
        light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }
}
