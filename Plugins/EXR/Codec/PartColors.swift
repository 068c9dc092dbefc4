internal import ImageModel

/// The primaries of a part.
struct PartColors {
    private enum Primaries {
        /// Those of a number of ITU-T H.273.
        case code(UInt8)
        case other(PrimaryPoints)
    }

    private let primaries: Primaries
    /// The weights of red, green and blue in luminance.
    let weights: (red: Float, green: Float, blue: Float)

    /// x and y of red, green, blue and white.
    ///
    /// - Source: ITU-T H.273, table 2.
    private static let known: [(code: UInt8, points: [Float])] = [
        (1, [0.64, 0.33, 0.3, 0.6, 0.15, 0.06, 0.3127, 0.329]),
        (9, [0.708, 0.292, 0.17, 0.797, 0.131, 0.046, 0.3127, 0.329]),
        (12, [0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329]),
        (11, [0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.314, 0.351]),
        (10, [1, 0, 0, 1, 0, 0, 1 / 3, 1 / 3]),
    ]

    /// Returns the chromaticities of a number; nil if they are not known.
    static func chromaticities(code: UInt8) -> [Float]? { known.first { $0.code == code }?.points }

    /// - Parameter chromaticities: as stored; nil stands for those of BT.709.
    init(_ chromaticities: [Float]?) {
        let given = chromaticities ?? Self.known[0].points
        let isUsable = given.allSatisfy { $0.isFinite && abs($0) < 100 }
        let points = isUsable ? given : Self.known[0].points
        let match = Self.known.first { known in zip(known.points, points).allSatisfy { abs($0 - $1) < 0.0015 } }
        weights = Self.weights(points) ?? (0.212_6, 0.715_2, 0.072_2)
        if let match {
            primaries = .code(match.code)
        } else {
            let all = points.map { Int32(($0 * 100_000).rounded()) }
            primaries = .other(
                PrimaryPoints(
                    redX: all[0], redY: all[1], greenX: all[2], greenY: all[3], blueX: all[4], blueY: all[5],
                    whiteX: all[6], whiteY: all[7]))
        }
    }

    /// Whether 16-bit samples have the curve of sRGB; otherwise they have the exponent 1/2.2, because only exponents go
    /// with primaries that have no number.
    var hasCurve: Bool { if case .code = primaries { true } else { false } }

    func description(isLinear: Bool) -> ColorDescription {
        switch primaries {
        case .code(let code):
            let transfer: UInt8 = isLinear ? 8 : 13
            return ColorDescription(
                codePoints: CodePoints(primaries: code, transfer: transfer, matrix: 0, isFullRange: true))
        case .other(let points):
            return ColorDescription(gamma: isLinear ? 100_000 : 45_455, primaries: points)
        }
    }

    /// Returns the second row of the matrix from RGB to XYZ; nil if the points define no space.
    private static func weights(_ p: [Float]) -> (Float, Float, Float)? {
        let d = p.map { Double($0) }
        guard d[7] != 0 else { return nil }
        // The XYZ of white with Y = 1, and of the primaries without their scale.
        let white = (d[6] / d[7], 1.0, (1 - d[6] - d[7]) / d[7])
        func column(_ index: Int) -> (Double, Double, Double) {
            (d[2 * index], d[2 * index + 1], 1 - d[2 * index] - d[2 * index + 1])
        }
        func determinant(
            _ a: (Double, Double, Double), _ b: (Double, Double, Double), _ c: (Double, Double, Double)
        ) -> Double {
            a.0 * (b.1 * c.2 - c.1 * b.2) - b.0 * (a.1 * c.2 - c.1 * a.2) + c.0 * (a.1 * b.2 - b.1 * a.2)
        }
        let (red, green, blue) = (column(0), column(1), column(2))
        let whole = determinant(red, green, blue)
        guard abs(whole) > 1e-9 else { return nil }
        let scales = (
            determinant(white, green, blue) / whole, determinant(red, white, blue) / whole,
            determinant(red, green, white) / whole
        )
        let weights = (Float(scales.0 * d[1]), Float(scales.1 * d[3]), Float(scales.2 * d[5]))
        return weights.1 > 1e-6 || weights.1 < -1e-6 ? weights : nil
    }
}
