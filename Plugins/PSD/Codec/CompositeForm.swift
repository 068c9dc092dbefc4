import CoderPluginKit
import ImageModel

/// How the channels of the composite become pixels.
struct CompositeForm {
    enum Color {
        /// 1 is black.
        case bitmap
        case gray, rgb
        /// Stored inverted: 0 is full ink.
        case cmyk
        /// An index into the palette.
        case palette
        case lab
    }

    let color: Color
    /// The number of bits of a stored sample; 32 are floats.
    let depth: Int
    /// The channels that are read: the colors, then alpha.
    let channels: [Int]
    let hasAlpha: Bool
    let format: PixelFormat
    /// The dropped or changed parts of the image, for warnings.
    private(set) var losses: [String] = []

    /// - Parameter keepsFloats: whether floats stay floats; otherwise they become 16-bit samples.
    /// - Throws: `.corrupt`, `.unsupported`.
    init(_ header: PSDHeader, _ layers: PSDLayers, transparentIndex: Int?, keepsFloats: Bool) throws(CoderError) {
        depth = header.depth
        guard Self.depths(header.mode).contains(depth) else {
            throw .unsupported("a PSD of \(header.mode) colors with \(depth) bits")
        }
        let colors: Int
        switch header.mode {
        case .bitmap: (color, colors) = (.bitmap, 1)
        case .gray, .duotone, .multichannel: (color, colors) = (.gray, 1)
        case .indexed: (color, colors) = (.palette, 1)
        case .rgb: (color, colors) = (.rgb, 3)
        case .cmyk: (color, colors) = (.cmyk, 4)
        case .lab: (color, colors) = (.lab, 3)
        }
        guard header.channels >= colors else {
            throw .corrupt("\(header.channels) channels do not make \(header.mode) colors", at: 12)
        }
        let hasTransparency = layers.hasTransparency && header.channels > colors && header.mode != .multichannel
        let canHaveAlpha = color == .gray || color == .rgb || color == .lab
        hasAlpha = hasTransparency && canHaveAlpha
        channels = Array(0..<colors + (hasAlpha ? 1 : 0))
        format = Self.format(
            color, depth: depth, hasAlpha: hasAlpha || color == .palette && transparentIndex != nil,
            keepsFloats: keepsFloats)

        if layers.count > 0 { losses.append(Self.dropped(layers.count, "layer") + ": the composite is decoded") }
        if header.mode == .duotone { losses.append("the inks of the duotone are dropped: gray is decoded") }
        if header.mode == .multichannel, header.channels > 1 {
            losses.append("only the first of \(header.channels) inks is decoded, as gray")
        } else {
            if hasTransparency, !hasAlpha { losses.append("transparency is dropped: the colors are mixed with white") }
            let extra = header.channels - colors - (hasTransparency ? 1 : 0)
            if extra > 0 { losses.append(Self.dropped(extra, "extra channel")) }
        }
        if depth == 32, !keepsFloats {
            losses.append("32-bit floats become 16-bit samples; psd.float=true keeps them")
        }
    }

    private static func depths(_ mode: PSDHeader.Mode) -> [Int] {
        switch mode {
        case .bitmap: [1]
        case .indexed: [8]
        case .gray, .rgb: [8, 16, 32]
        case .cmyk, .multichannel, .duotone, .lab: [8, 16]
        }
    }

    private static func format(_ color: Color, depth: Int, hasAlpha: Bool, keepsFloats: Bool) -> PixelFormat {
        let channels: PixelFormat.Channels =
            switch color {
            case .bitmap, .gray: hasAlpha ? .grayAlpha : .gray
            case .rgb, .palette, .lab: hasAlpha ? .rgba : .rgb
            case .cmyk: .cmyk
            }
        if depth == 32, keepsFloats { return PixelFormat(channels, bits: 32, numeric: .float) }
        return PixelFormat(channels, bits: depth > 8 || color == .lab ? 16 : 8)
    }

    private static func dropped(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun) is dropped" : "\(count) \(noun)s are dropped"
    }
}
