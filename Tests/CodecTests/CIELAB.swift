import Glibc

/// A color in CIE L*a*b* (CIE 015, D65): the reference for judging other metrics.
struct CIELAB {
    var lightness, a, b: Double

    /// - Source: IEC 61966-2-1 for light and primaries, CIE 015:2018 section 8.2.1 for the rest.
    init(red: UInt8, green: UInt8, blue: UInt8) {
        let (r, g, b) = (Self.linear[Int(red)], Self.linear[Int(green)], Self.linear[Int(blue)])
        let x = Self.bent((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047)
        let y = Self.bent(0.2126729 * r + 0.7151522 * g + 0.0721750 * b)
        let z = Self.bent((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883)
        (lightness, a, self.b) = (116 * y - 16, 500 * (x - y), 200 * (y - z))
    }

    /// The mean distance between pixels of two RGBA images.
    static func error(_ a: [UInt8], _ b: [UInt8]) -> Double {
        let distances = stride(from: 0, to: a.count, by: 4).map { place -> Double in
            let (x, y) = (
                CIELAB(red: a[place], green: a[place + 1], blue: a[place + 2]),
                CIELAB(red: b[place], green: b[place + 1], blue: b[place + 2])
            )
            return hypot(x.lightness - y.lightness, hypot(x.a - y.a, x.b - y.b))
        }
        return distances.reduce(0, +) / Double(distances.count)
    }

    private static let linear = (0..<256).map { value -> Double in
        let signal = Double(value) / 255
        return signal <= 0.04045 ? signal / 12.92 : pow((signal + 0.055) / 1.055, 2.4)
    }

    private static func bent(_ light: Double) -> Double {
        light > 216.0 / 24389 ? cbrt(light) : (24389.0 / 27 * light + 16) / 116
    }
}
