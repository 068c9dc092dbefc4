internal import ImageModel

/// A form of the samples of a file, and the chunks that belong to it.
struct PNGLayout: Hashable {
    /// The bits of PNG 3rd edition, table 8: 1 palette, 2 color, 4 alpha.
    var colorType: UInt8
    /// The bits of a sample, or of an index.
    var depth: Int
    /// RGBA, four bytes an entry; those that are not opaque first.
    var palette: [UInt8] = []
    /// The transparent color, one sample of gray or three of RGB.
    var key: [UInt16] = []

    var isIndexed: Bool { colorType == 3 }
    var isColor: Bool { colorType & 2 != 0 }
    var channels: Int { isIndexed ? 1 : (isColor ? 3 : 1) + (colorType & 4 != 0 ? 1 : 0) }

    /// The PLTE data of an indexed image.
    var paletteData: [UInt8]? {
        isIndexed ? stride(from: 0, to: palette.count, by: 4).flatMap { palette[$0..<$0 + 3] } : nil
    }

    /// The tRNS data: alpha up to the last entry that is not opaque, or the transparent color.
    var transparencyData: [UInt8]? {
        if !key.isEmpty { return key.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } }
        let alphas = stride(from: 3, to: palette.count, by: 4).map { palette[$0] }
        return alphas.lastIndex { $0 != 0xFF }.map { Array(alphas[...$0]) }
    }
}

/// The sample-dependent chunks of a file.
struct PNGCompanions {
    /// The background color, 16 bits a sample; nil without one.
    private(set) var background: [UInt16]?
    /// The data of sBIT; nil without it.
    private(set) var significantBits: [UInt8]?

    /// The factor from a sample of fewer bits to 16 bits.
    private static func scale(_ depth: Int) -> Int { 0xFFFF / (1 << depth - 1) }

    /// Reads bKGD and sBIT of a file.
    ///
    /// - Parameter palette: RGB, three bytes an entry.
    /// - Returns: nil if one of them does not match the file.
    init?(background: [UInt8]?, significantBits: [UInt8]?, colorType: UInt8, depth: Int, palette: [UInt8]) {
        if let background {
            guard let color = Self.color(background, colorType: colorType, depth: depth, palette: palette) else {
                return nil
            }
            self.background = color
        }
        if let significantBits {
            let alpha = colorType & 4 != 0 ? 1 : 0
            guard significantBits.count == (colorType & 2 != 0 ? 3 : 1) + alpha else { return nil }
            self.significantBits = significantBits
        }
    }

    private static func color(_ data: [UInt8], colorType: UInt8, depth: Int, palette: [UInt8]) -> [UInt16]? {
        if colorType == 3 {
            guard data.count == 1, 3 * Int(data[0]) + 3 <= palette.count else { return nil }
            return palette[3 * Int(data[0])..<3 * Int(data[0]) + 3].map { UInt16($0) * 257 }
        }
        guard data.count == (colorType & 2 != 0 ? 6 : 2) else { return nil }
        let samples = stride(from: 0, to: data.count, by: 2).map { Int(data[$0]) << 8 | Int(data[$0 + 1]) }
        guard samples.allSatisfy({ $0 < 1 << depth }) else { return nil }
        let wide = samples.map { UInt16($0 * scale(depth)) }
        return wide.count == 1 ? [wide[0], wide[0], wide[0]] : wide
    }

    /// Returns bKGD and sBIT for another form of the samples; nil if that form cannot express them.
    func data(for layout: PNGLayout) -> (background: [UInt8]?, significantBits: [UInt8]?)? {
        var result: (background: [UInt8]?, significantBits: [UInt8]?) = (nil, nil)
        if let background {
            guard let data = Self.data(background, layout) else { return nil }
            result.background = data
        }
        if let significantBits {
            guard let data = Self.data(significantBits, layout) else { return nil }
            result.significantBits = data
        }
        return result
    }

    private static func data(_ color: [UInt16], _ layout: PNGLayout) -> [UInt8]? {
        if layout.isIndexed {
            guard color.allSatisfy({ $0 % 257 == 0 }) else { return nil }
            let rgb = color.map { UInt8($0 / 257) }
            let index = stride(from: 0, to: layout.palette.count, by: 4).first {
                layout.palette[$0..<$0 + 3].elementsEqual(rgb)
            }
            return index.map { [UInt8($0 / 4)] }
        }
        guard layout.isColor || color[0] == color[1] && color[1] == color[2] else { return nil }
        let samples = layout.isColor ? color : [color[0]]
        let scale = Self.scale(layout.depth)
        guard samples.allSatisfy({ Int($0) % scale == 0 }) else { return nil }
        return samples.flatMap { sample -> [UInt8] in
            let stored = Int(sample) / scale
            return [UInt8(stored >> 8), UInt8(stored & 0xFF)]
        }
    }

    private static func data(_ bits: [UInt8], _ layout: PNGLayout) -> [UInt8]? {
        let hasAlpha = bits.count % 2 == 0
        var colors = hasAlpha ? Array(bits.dropLast()) : bits
        if layout.isColor, colors.count == 1 { colors = [colors[0], colors[0], colors[0]] }
        if !layout.isColor, colors.count == 3 {
            guard colors[0] == colors[1], colors[1] == colors[2] else { return nil }
            colors = [colors[0]]
        }
        if layout.colorType & 4 != 0 {
            guard let alpha = hasAlpha ? bits.last : UInt8(layout.depth) else { return nil }
            colors.append(alpha)
        }
        let most = layout.isIndexed ? 8 : layout.depth
        return colors.allSatisfy { (1...most).contains(Int($0)) } ? colors : nil
    }
}
