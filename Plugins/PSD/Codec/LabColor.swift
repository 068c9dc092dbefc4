import Glibc

/// Conversion of CIE L*a*b* under D50, as Photoshop stores it, to sRGB.
enum LabColor {
    /// Returns the stored value of a = 0 or b = 0: 128 or 32,768.
    static func neutral(_ depth: Int) -> Float { depth == 8 ? 128 / 255 : 32_768 / 65_535 }

    /// Returns sRGB, from 0 to 1 unless the color is outside sRGB.
    ///
    /// - Parameter depth: the number of bits of the stored samples, which are passed from 0 to 1.
    static func rgb(_ l: Float, _ a: Float, _ b: Float, depth: Int) -> (red: Float, green: Float, blue: Float) {
        // A step of 8 bits is 1, and so are 256 steps of 16 bits.
        let scale: Float = depth == 8 ? 255 : 65_535 / 256
        let light = light(l * 100, a * scale - 128, b * scale - 128)
        return (curve(light.0), curve(light.1), curve(light.2))
    }

    /// Returns linear light with the primaries of sRGB; Bradford's matrix adapts D50 to D65.
    private static func light(_ l: Float, _ a: Float, _ b: Float) -> (Float, Float, Float) {
        func root(_ value: Float) -> Float {
            value > 6 / 29 ? value * value * value : 3 * (6 / 29) * (6 / 29) * (value - 4 / 29)
        }
        let height = (l + 16) / 116
        let (x, y, z) = (root(height + a / 500) * 0.9642, root(height), root(height - b / 200) * 0.8249)
        return (
            3.133_856_1 * x - 1.616_866_7 * y - 0.490_614_6 * z, -0.978_768_4 * x + 1.916_141_5 * y + 0.033_454 * z,
            0.071_945_3 * x - 0.228_991_4 * y + 1.405_242_7 * z
        )
    }

    private static func curve(_ light: Float) -> Float {
        light <= 0.003_130_8 ? light * 12.92 : 1.055 * powf(light, 1 / 2.4) - 0.055
    }
}
