import ImageModel

/// Colors that a gamma and primaries describe, as the chunks gAMA and cHRM of PNG do.
public struct CalibratedColor: Sendable, Hashable {
    /// The exponent of the encoder.
    /// - Units: 1/100 000.
    public let gamma: UInt32
    /// x and y of white, red, green and blue; nil: those of sRGB.
    /// - Units: 1/100 000.
    public let chromaticities: [UInt32]?

    /// What sRGB would say.
    static let sRGB: (gamma: UInt32, chromaticities: [UInt32]) = (
        45_455, [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]
    )
    /// Writers round: 45 000 is as common as 45 455.
    private static let (gammaTolerance, pointTolerance) = (500, 100)

    /// Nil when it says sRGB, or nothing that could be used.
    ///
    /// A gamma without chromaticities has those of sRGB; chromaticities without a gamma say nothing of stored numbers; those
    /// that make no space are left out.
    public init?(gamma: UInt32?, chromaticities: [UInt32]? = nil) {
        // An exponent of 0.1 … 10: beyond, somebody mistook the unit.
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

    /// Nil where the file states neither a usable gamma nor one other than that of sRGB.
    init?(_ color: ColorDescription) {
        let points = color.primaries.map {
            [$0.whiteX, $0.whiteY, $0.redX, $0.redY, $0.greenX, $0.greenY, $0.blueX, $0.blueY]
        }
        // Primaries outside of the first quadrant are imaginary: no display has them.
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
