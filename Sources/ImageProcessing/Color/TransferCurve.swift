import Glibc

/// The relation of stored numbers to light.
enum TransferCurve: Sendable, Hashable {
    case sRGB
    case power(Double)
    /// SMPTE ST 428-1, digital cinema.
    case cinema
    /// SMPTE ST 2084: 1.0 is 10 000 cd/m².
    case pq
    /// ARIB STD-B67: scene light, where 1.0 is the camera's peak.
    case hlg

    /// Returns the curve of an H.273 code; nil if the code is reserved, unspecified or logarithmic.
    ///
    /// BT.709 and its relatives (1, 6, 7, 11, 12, 14, 15) are treated as sRGB: their functions describe a camera, and
    /// such images are customarily shown on sRGB screens unchanged.
    ///
    /// Source: Rec. ITU-T H.273 (07/2024), table 3.
    init?(code: UInt8) {
        switch code {
        case 1, 6, 7, 11, 12, 13, 14, 15: self = .sRGB
        case 4: self = .power(2.2)
        case 5: self = .power(2.8)
        case 8: self = .power(1)
        case 16: self = .pq
        case 17: self = .cinema
        case 18: self = .hlg
        default: return nil
        }
    }

    var isHighDynamicRange: Bool { self == .pq || self == .hlg }

    /// Returns the light of a stored number, both in 0 … 1.
    func light(_ value: Double) -> Double {
        switch self {
        case .sRGB: value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        case .power(let exponent): pow(value, exponent)
        case .cinema: min(1, pow(value, 2.6) * 52.37 / 48)
        case .pq: PerceptualQuantizer.light(value)
        case .hlg: value <= 0.5 ? value * value / 3 : (exp((value - Self.hlgC) / Self.hlgA) + Self.hlgB) / 12
        }
    }

    /// Returns the number that sRGB stores for light (IEC 61966-2-1).
    static func sRGBValue(_ light: Double) -> Double {
        light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }

    // Rec. ITU-R BT.2100-2, table 5.
    private static let hlgA = 0.17883277
    private static let hlgB = 1 - 4 * hlgA
    private static let hlgC = 0.5 - hlgA * log(4 * hlgA)
}

/// The curve of SMPTE ST 2084; 1.0 of light is 10 000 cd/m².
enum PerceptualQuantizer {
    // Rec. ITU-R BT.2100-2, table 4.
    private static let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
    private static let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)

    static func light(_ value: Double) -> Double {
        let root = pow(value, 1 / m2)
        return pow(max(root - c1, 0) / (c2 - c3 * root), 1 / m1)
    }

    static func value(_ light: Double) -> Double {
        let power = pow(light, m1)
        return pow((c1 + c2 * power) / (1 + c3 * power), m2)
    }
}
