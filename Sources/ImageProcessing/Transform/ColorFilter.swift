import Glibc
public import ImageModel

/// Changes the color of each pixel independently; alpha stays unchanged.
///
/// Filters work on the stored values without alpha. Those named after light use linear values, taken as sRGB. CMYK
/// becomes RGB.
public enum ColorFilter: RowTransformer, Hashable {
    /// 1 − c
    case invert
    /// 1 − c of the linear light, which makes dark colors brighter than ``invert`` does.
    case invertLight
    /// The BT.709 luma of the stored values, in the same format.
    case grayscale
    /// A brown tone, from 0 (none) to 1 (full).
    ///
    /// - Source: W3C, "Filter Effects Module Level 1", sepia.
    case sepia(_ intensity: Double)
    /// Applies, in this order: saturation, 0 … 10, around the luma; brightness, −1 … 1, added; contrast, 0 … 10, around
    /// the middle.
    case adjust(brightness: Double = 0, contrast: Double = 1, saturation: Double = 1)
    /// Changes the light by stops, −20 … 20: multiplies the linear value by 2 to their power.
    case exposure(_ stops: Double)

    /// The key: `ColorFilter(invert)`, `…(invertLight)`, `…(grayscale)`, `…(sepia,0.5)`, `…(adjust,0.1,1.2,1)`,
    /// `…(exposure,-1)`.
    public var key: String {
        switch self {
        case .invert: "ColorFilter(invert)"
        case .invertLight: "ColorFilter(invertLight)"
        case .grayscale: "ColorFilter(grayscale)"
        case .sepia(let intensity): "ColorFilter(sepia,\(keyText(intensity)))"
        case .adjust(let brightness, let contrast, let saturation):
            "ColorFilter(adjust,\(keyText(brightness)),\(keyText(contrast)),\(keyText(saturation)))"
        case .exposure(let stops): "ColorFilter(exposure,\(keyText(stops)))"
        }
    }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        do throws(CoderError) {
            try checkParameters()
            return size
        } catch { return .zero }
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try filtered(BufferRows(buffer)).collected()
    }

    /// Returns the transformed rows.
    package func rows(of source: any RowSource) throws(CoderError) -> (any RowSource)? { try filtered(source) }

    private func filtered(_ source: any RowSource) throws(CoderError) -> any RowSource {
        try checkParameters()
        if let table = lightTable {
            return try source.mappedWork("the color filter", format: { $0 }) { WorkRow.apply(table, to: &$0) }
        }
        let matrix = matrix.map(Float.init)
        let addsColors = if case .sepia = self { true } else { false }
        return try source.mappedWork("the color filter", format: { addsColors ? $0.withColors : $0 }) {
            WorkRow.apply(matrix, to: &$0)
        }
    }

    private func checkParameters() throws(CoderError) {
        switch self {
        case .invert, .invertLight, .grayscale: break
        case .sepia(let intensity): try check(intensity, "an intensity", in: 0...1)
        case .adjust(let brightness, let contrast, let saturation):
            try check(brightness, "a brightness", in: -1...1)
            try check(contrast, "a contrast", in: 0...10)
            try check(saturation, "a saturation", in: 0...10)
        case .exposure(let stops): try check(stops, "an exposure", in: -20...20)
        }
    }

    /// BT.709, as in PixelConverter.
    private static let luma = [0.2126, 0.7152, 0.0722]

    /// The rows for red, green and blue: three factors, then the offset.
    private var matrix: [Double] {
        switch self {
        case .invert: [-1, 0, 0, 1, 0, -1, 0, 1, 0, 0, -1, 1]
        case .grayscale: Self.adjustment(brightness: 0, contrast: 1, saturation: 0)
        case .sepia(let intensity):
            zip(Self.sepia, Self.adjustment(brightness: 0, contrast: 1, saturation: 1)).map { sepia, identity in
                sepia * intensity + identity * (1 - intensity)
            }
        case .adjust(let brightness, let contrast, let saturation):
            Self.adjustment(brightness: brightness, contrast: contrast, saturation: saturation)
        case .invertLight, .exposure: preconditionFailure("a curve, not a matrix")
        }
    }

    private static let sepia = [0.393, 0.769, 0.189, 0, 0.349, 0.686, 0.168, 0, 0.272, 0.534, 0.131, 0]

    private static func adjustment(brightness: Double, contrast: Double, saturation: Double) -> [Double] {
        var matrix: [Double] = []
        for row in 0..<3 {
            for column in 0..<3 {
                matrix.append(contrast * (luma[column] * (1 - saturation) + (row == column ? saturation : 0)))
            }
            matrix.append(contrast * (brightness - 0.5) + 0.5)
        }
        return matrix
    }

    /// The new value of each stored value, for filters that work on light.
    ///
    /// - Source: IEC 61966-2-1.
    private var lightTable: [UInt16]? {
        let change: (Double) -> Double
        switch self {
        case .invertLight: change = { 1 - $0 }
        case .exposure(let stops):
            let factor = exp2(stops)
            change = { min(1, $0 * factor) }
        default: return nil
        }
        return (0..<65_536).map { index in
            let value = Double(index) / 65_535
            let light = change(value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
            let encoded = light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
            return UInt16((min(1, max(0, encoded)) * 65_535).rounded())
        }
    }
}
