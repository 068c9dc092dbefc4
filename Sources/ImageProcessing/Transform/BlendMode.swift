import CPixelKernels

/// The way a source S with alpha s is combined with a backdrop D with alpha d.
///
/// Results are computed on premultiplied values in 32-bit floats, from 16-bit samples, and rounded to nearest; a color
/// never exceeds its alpha. Only ``normal`` is computed in integers.
///
/// - Source: Porter and Duff, "Compositing Digital Images" (1984); W3C, "Compositing and Blending Level 1".
package enum BlendMode: String, Sendable, Hashable, CaseIterable {
    /// S + D(1 − s), "source over".
    case normal
    case clear
    /// S
    case copy
    /// Sd
    case sourceIn
    /// S(1 − d)
    case sourceOut
    /// Sd + D(1 − s)
    case sourceAtop
    /// S(1 − d) + D
    case destinationOver
    /// Ds
    case destinationIn
    /// D(1 − s)
    case destinationOut
    /// S(1 − d) + Ds
    case destinationAtop
    /// S(1 − d) + D(1 − s)
    case xor
    /// min(1, S + D)
    case plusLighter
    /// With the alpha a = min(1, s + d): max(0, a − ((d − D) + (s − S)))
    case plusDarker
    case multiply
    case screen
    case overlay
    case darken
    case lighten
    case colorDodge
    case colorBurn
    case softLight
    case hardLight
    case difference
    case exclusion

    /// Returns whether an opaque backdrop stays opaque.
    func keepsOpaque(sourceIsOpaque: Bool) -> Bool {
        switch self {
        case .clear, .sourceOut, .destinationOut, .xor: false
        case .copy, .sourceIn, .destinationIn, .destinationAtop: sourceIsOpaque
        default: true
        }
    }

    /// The mode's number in the kernel.
    var kernel: UInt32 {
        let number =
            switch self {
            case .normal: PIXEL_BLEND_NORMAL
            case .clear: PIXEL_BLEND_CLEAR
            case .copy: PIXEL_BLEND_COPY
            case .sourceIn: PIXEL_BLEND_SOURCE_IN
            case .sourceOut: PIXEL_BLEND_SOURCE_OUT
            case .sourceAtop: PIXEL_BLEND_SOURCE_ATOP
            case .destinationOver: PIXEL_BLEND_DESTINATION_OVER
            case .destinationIn: PIXEL_BLEND_DESTINATION_IN
            case .destinationOut: PIXEL_BLEND_DESTINATION_OUT
            case .destinationAtop: PIXEL_BLEND_DESTINATION_ATOP
            case .xor: PIXEL_BLEND_XOR
            case .plusLighter: PIXEL_BLEND_PLUS_LIGHTER
            case .plusDarker: PIXEL_BLEND_PLUS_DARKER
            case .multiply: PIXEL_BLEND_MULTIPLY
            case .screen: PIXEL_BLEND_SCREEN
            case .overlay: PIXEL_BLEND_OVERLAY
            case .darken: PIXEL_BLEND_DARKEN
            case .lighten: PIXEL_BLEND_LIGHTEN
            case .colorDodge: PIXEL_BLEND_COLOR_DODGE
            case .colorBurn: PIXEL_BLEND_COLOR_BURN
            case .softLight: PIXEL_BLEND_SOFT_LIGHT
            case .hardLight: PIXEL_BLEND_HARD_LIGHT
            case .difference: PIXEL_BLEND_DIFFERENCE
            case .exclusion: PIXEL_BLEND_EXCLUSION
            }
        return UInt32(number)
    }
}
