/// The CIE 1931 x and y of the primaries and the white of an RGB space.
struct Chromaticities: Sendable, Hashable {
    var red, green, blue, white: SIMD2<Double>

    init(red: SIMD2<Double>, green: SIMD2<Double>, blue: SIMD2<Double>, white: SIMD2<Double>) {
        (self.red, self.green, self.blue, self.white) = (red, green, blue, white)
    }

    private static let d65 = SIMD2(0.3127, 0.3290)
    private static let illuminantC = SIMD2(0.310, 0.316)

    static let bt709 = Chromaticities(
        red: [0.640, 0.330], green: [0.300, 0.600], blue: [0.150, 0.060], white: d65)

    /// Returns the space of an H.273 code; nil if the code is reserved or unspecified.
    ///
    /// Source: Rec. ITU-T H.273 (07/2024), table 2.
    init?(code: UInt8) {
        switch code {
        case 1: self = .bt709
        case 4:
            self.init(red: [0.67, 0.33], green: [0.21, 0.71], blue: [0.14, 0.08], white: Self.illuminantC)
        case 5: self.init(red: [0.64, 0.33], green: [0.29, 0.60], blue: [0.15, 0.06], white: Self.d65)
        case 6, 7: self.init(red: [0.630, 0.340], green: [0.310, 0.595], blue: [0.155, 0.070], white: Self.d65)
        case 8:
            self.init(red: [0.681, 0.319], green: [0.243, 0.692], blue: [0.145, 0.049], white: Self.illuminantC)
        case 9: self.init(red: [0.708, 0.292], green: [0.170, 0.797], blue: [0.131, 0.046], white: Self.d65)
        case 10: self.init(red: [1, 0], green: [0, 1], blue: [0, 0], white: [1.0 / 3, 1.0 / 3])
        case 11:
            self.init(red: [0.680, 0.320], green: [0.265, 0.690], blue: [0.150, 0.060], white: [0.314, 0.351])
        case 12: self.init(red: [0.680, 0.320], green: [0.265, 0.690], blue: [0.150, 0.060], white: Self.d65)
        case 22: self.init(red: [0.630, 0.340], green: [0.295, 0.605], blue: [0.155, 0.077], white: Self.d65)
        default: return nil
        }
    }

    /// Returns X, Y and Z of a chromaticity with Y = 1.
    private static func xyz(_ point: SIMD2<Double>) -> [Double] {
        [point.x / point.y, 1, (1 - point.x - point.y) / point.y]
    }

    /// The matrix from linear RGB to XYZ with the space's own white; nil if the points define no space.
    var toXYZ: Matrix3? {
        guard white.y > 0 else { return nil }
        // The columns x, y, z also work for a primary with y = 0.
        let points = [red, green, blue]
        let columns = Matrix3(rows: points.map(\.x) + points.map(\.y) + points.map { 1 - $0.x - $0.y })
        guard let inverse = columns.inverse else { return nil }
        let matrix = columns * Matrix3.diagonal(inverse * Self.xyz(white))
        return matrix.isFinite ? matrix : nil
    }

    /// The white of the profile connection space (ICC.1:2022, 7.2.16).
    static let d50 = [0.9642, 1.0, 0.8249]

    /// The linear adaptation matrix from this white to D50.
    ///
    /// Source: ICC.1:2022, annex E.3.
    var adaptation: Matrix3? {
        let cones = Matrix3(rows: [0.8951, 0.2664, -0.1614, -0.7502, 1.7135, 0.0367, 0.0389, -0.0685, 1.0296])
        guard white.y > 0, let back = cones.inverse else { return nil }
        let from = cones * Self.xyz(white)
        let to = cones * Self.d50
        guard from.allSatisfy({ abs($0) > 1e-6 }) else { return nil }
        return back * Matrix3.diagonal(zip(to, from).map { $0 / $1 }) * cones
    }

    /// The matrix from linear RGB to XYZ with D50 as white (relative colorimetric).
    var toConnectionSpace: Matrix3? {
        guard let toXYZ, let adaptation else { return nil }
        return adaptation * toXYZ
    }
}
