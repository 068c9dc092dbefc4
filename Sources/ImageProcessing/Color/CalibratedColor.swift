import ImageModel

/// Colors described by a gamma and primaries, as in the PNG chunks gAMA and cHRM.
public struct CalibratedColor: Sendable, Hashable {
    /// The exponent of the encoder.
    /// - Units: 1/100 000.
    package let gamma: UInt32
    /// The x and y of white, red, green and blue; nil means those of sRGB.
    /// - Units: 1/100 000.
    package let chromaticities: [UInt32]?

    /// The values of sRGB.
    static let sRGB: (gamma: UInt32, chromaticities: [UInt32]) = (
        45_455, [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]
    )
    /// Writers round: 45 000 is as common as 45 455.
    private static let (gammaTolerance, pointTolerance) = (500, 100)

    /// Returns nil if the values are those of sRGB, or unusable.
    ///
    /// A gamma without chromaticities uses those of sRGB. Chromaticities without a gamma do not define stored numbers.
    /// Chromaticities that define no color space are ignored.
    package init?(gamma: UInt32?, chromaticities: [UInt32]? = nil) {
        // Valid exponents are 0.1 … 10; other values come from writers that used the wrong unit.
        guard let gamma, (10_000...1_000_000).contains(gamma) else { return nil }
        func isNear(_ a: UInt32, _ b: UInt32, _ tolerance: Int) -> Bool { abs(Int(a) - Int(b)) <= tolerance }
        self.gamma = gamma
        var points = chromaticities?.count == 8 ? chromaticities : nil
        if let given = points {
            let isSRGB = zip(given, Self.sRGB.chromaticities).allSatisfy { isNear($0, $1, Self.pointTolerance) }
            if isSRGB || Self.space(given).toConnectionSpace == nil { points = nil }
        }
        self.chromaticities = points
        if points == nil, isNear(gamma, Self.sRGB.gamma, Self.gammaTolerance) { return nil }
    }

    /// Returns nil if the file states no usable gamma, or only values of sRGB.
    init?(_ color: ColorDescription) {
        let points = color.primaries.map {
            [$0.whiteX, $0.whiteY, $0.redX, $0.redY, $0.greenX, $0.greenY, $0.blueX, $0.blueY]
        }
        // Primaries outside of the first quadrant are imaginary: no display can show them.
        self.init(gamma: color.gamma, chromaticities: points?.map { UInt32(clamping: $0) })
    }

    private static func space(_ points: [UInt32]) -> Chromaticities {
        func point(_ index: Int) -> SIMD2<Double> {
            SIMD2(Double(points[2 * index]), Double(points[2 * index + 1])) / 100_000
        }
        return Chromaticities(red: point(1), green: point(2), blue: point(3), white: point(0))
    }

    var space: Chromaticities { chromaticities.map(Self.space) ?? .bt709 }
    var curve: TransferCurve { .power(100_000 / Double(gamma)) }
}
