internal import Glibc
internal import ImageModel
internal import Light

/// Makes linear light of samples, for the encoder.
struct StoredLight {
    private enum Curve {
        case linear
        case power(Float)
        case row(LightRow)
    }

    private let curve: Curve
    /// The x and y of red, green, blue and white; nil if they are not known.
    let chromaticities: [Float]?

    /// - Throws: `.unsupported` for samples whose light is not known.
    init(_ color: ColorDescription) throws(CoderError) {
        if color.codePoints == nil, let gamma = color.gamma, (10_000...1_000_000).contains(gamma) {
            curve = gamma == 100_000 ? .linear : .power(100_000 / Float(gamma))
            chromaticities = color.primaries.map(Self.points) ?? PartColors.chromaticities(code: 1)
            return
        }
        let row = try LightRow(color)
        curve = color.codePoints?.transfer == 8 ? .linear : .row(row)
        chromaticities = PartColors.chromaticities(code: row.primaries)
    }

    private static func points(_ p: PrimaryPoints) -> [Float] {
        [p.redX, p.redY, p.greenX, p.greenY, p.blueX, p.blueY, p.whiteX, p.whiteY].map { Float($0) / 100_000 }
    }

    var isLinear: Bool { if case .linear = curve { true } else { false } }

    /// Returns the light of a sample; values below 0 are mirrored.
    func light(_ sample: Float) -> Float {
        switch curve {
        case .linear: sample
        case .power(let exponent): sample < 0 ? -powf(-sample, exponent) : powf(sample, exponent)
        case .row(let row): row.light(sample)
        }
    }
}
