import CPixelKernels
import Glibc
import ImageModel

/// Three curves to linear light and a matrix to the connection space, made from code points or a small profile.
struct ColorShape: Sendable {
    /// `sampleCount` numbers each for red, green and blue.
    var curves: [Float]
    var toConnectionSpace: Matrix3
    /// The method for reducing light above screen white, if the image can have it.
    var range: Range?

    enum Range: Sendable {
        case pq(ToneMapping)
        /// HLG, with the weights of luminance.
        case hlg(ToneMapping, luma: [Double])
    }

    static let sampleCount = Int(PIXEL_CURVE_SAMPLES)

    init(curves: [Float], toConnectionSpace: Matrix3) {
        self.curves = curves
        self.toConnectionSpace = toConnectionSpace
    }

    /// Returns nil if the primaries define no space.
    init?(_ model: ColorModel, _ mapping: ToneMapping) {
        guard let matrix = model.space.toConnectionSpace, let native = model.space.toXYZ else { return nil }
        let last = Double(Self.sampleCount - 1)
        let curve = (0..<Self.sampleCount).map { Float(model.curve.light(Double($0) / last)) }
        curves = curve + curve + curve
        toConnectionSpace = matrix
        switch model.curve {
        case .pq: range = .pq(mapping)
        case .hlg: range = .hlg(mapping, luma: Array(native.rows[3..<6]))
        case .sRGB, .power, .cinema: range = nil
        }
    }

    /// Whether conversion to sRGB would change pixels by less than three quarters of an 8-bit level.
    ///
    /// sRGB profiles differ in the last digits and in the storage of the curve. The difference is invisible, so leaving
    /// the pixels unchanged is faster and more accurate.
    var isSRGBInEffect: Bool {
        guard range == nil, let matrix = Self.matrix(toConnectionSpace, to: .bt709) else { return false }
        let last = Self.sampleCount - 1
        func light(_ channel: Int, _ level: Int) -> Double {
            Double(curves[channel * Self.sampleCount + (level * last + 127) / 255])
        }
        // The position of the sample, between two levels.
        func value(_ level: Int) -> Double { Double((level * last + 127) / 255) / Double(last) }
        func stays(_ levels: [Int]) -> Bool {
            let result = matrix * (0..<3).map { light($0, levels[$0]) }
            return (0..<3).allSatisfy {
                abs(TransferCurve.sRGBValue(min(max(result[$0], 0), 1)) - value(levels[$0])) <= 0.75 / 255
            }
        }
        let corners = [0, 51, 102, 153, 204, 255]
        return (0...255).allSatisfy { stays([$0, $0, $0]) }
            && corners.allSatisfy { red in
                corners.allSatisfy { green in corners.allSatisfy { blue in stays([red, green, blue]) } }
            }
    }

    /// Returns the matrix from linear light here to linear light of another space.
    static func matrix(_ toConnectionSpace: Matrix3, to space: Chromaticities) -> Matrix3? {
        guard let back = space.toConnectionSpace?.inverse else { return nil }
        let matrix = back * toConnectionSpace
        return matrix.isFinite ? matrix : nil
    }

    // MARK: Tables of the kernel

    /// The sRGB curve over the octaves below 1, in the layout of the kernel.
    static let encode: [Float] = (0..<Int(PIXEL_ENCODE_SAMPLES)).map { index in
        Float(TransferCurve.sRGBValue(octaves(index, first: -9, perOctave: 256)))
    }

    /// The table from linear light to the nearest sRGB level; thresholds are the light half-way between two levels.
    static let encode8: [UInt8] = {
        let count = Int(PIXEL_ENCODE8_SAMPLES)
        var table: [UInt8] = []
        table.reserveCapacity(count)
        for level in 0..<255 {
            let border = TransferCurve.sRGB.light((Double(level) + 0.5) / 255) * Double(count - 1)
            while Double(table.count) < border { table.append(UInt8(level)) }
        }
        while table.count < count { table.append(255) }
        return table
    }()

    /// Returns factors for light, indexed by its largest component.
    static func tone(_ mapping: ToneMapping, peak: Double) -> [Float] {
        (0..<Int(PIXEL_TONE_SAMPLES)).map { index in
            let light = octaves(index, first: -20, perOctave: 256)
            return Float(mapping.mapped(light, peak: peak) / light)
        }
    }

    /// The luminance to the power of (system gamma − 1) (BT.2100-2, table 5: 1.2 at 1000 cd/m²).
    static let ootf: [Float] = (0..<Int(PIXEL_TONE_SAMPLES)).map { index in
        Float(pow(octaves(index, first: -20, perOctave: 256), 0.2))
    }

    /// Returns the number whose bits are `index` steps above those of a power of two.
    private static func octaves(_ index: Int, first: Int, perOctave: Int) -> Double {
        Double(sign: .plus, exponent: first + index / perOctave, significand: 1)
            * (1 + Double(index % perOctave) / Double(perOctave))
    }
}
