package import ImageModel

/// Colours as the chunks gAMA and cHRM of PNG tell them.
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

    /// Reads the blobs that the PNG coder hands out under the names of the chunks.
    init?(metadata: [MetadataBlob]) {
        func numbers(_ key: String, _ count: Int) -> [UInt32]? {
            guard let blob = metadata.first(where: { $0.kind == .raw && $0.key == key }), blob.bytes.count == 4 * count
            else { return nil }
            return (0..<count).map { index in
                blob.bytes[4 * index..<4 * index + 4].reduce(0) { $0 << 8 | UInt32($1) }
            }
        }
        self.init(gamma: numbers("gAMA", 1)?[0], chromaticities: numbers("cHRM", 8))
    }

    /// Whether a blob is one of those that tell such colours.
    package static func isTold(by blob: MetadataBlob) -> Bool {
        blob.kind == .raw && (blob.key == "gAMA" || blob.key == "cHRM")
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
