import CPixelKernels
import HostSystem
import ImageModel

/// The most frequent conversions in real files, each one call for a whole row.
///
/// The results equal those of ``RowConverter``'s pixel-by-pixel conversion, bit for bit.
enum RowKernel {
    case copy
    case expandRGB(swaps: Bool)
    case dropAlpha(swaps: Bool)
    case swapColors
    case expandGray(channels: Int)
    case narrow(channels: Int)
    case widen(channels: Int)
    case premultiply(channels: Int, bits: Int)
    case unpremultiply(channels: Int, bits: Int)
    case flatten(channels: Int, swaps: Bool, under: RGBAColor)
    case inksToLight(channels: Int)

    /// Finds the kernel for a pair of formats; returns nil if there is none.
    init?(from: PixelFormat, to: PixelFormat, background: RGBAColor) {
        guard from.numeric == .unorm, to.numeric == .unorm else { return nil }
        let count = to.channels.count
        // For opaque pixels the alpha mode does not matter.
        let keepsAlpha = from.alpha == to.alpha || !from.hasTransparency
        if from.channels == to.channels {
            switch (from.bits, to.bits) {
            case (8, 8) where keepsAlpha, (16, 16) where keepsAlpha: self = .copy
            case (16, 8) where keepsAlpha: self = .narrow(channels: count)
            case (8, 16) where keepsAlpha: self = .widen(channels: count)
            case (let a, let b) where a == b && from.alpha == .straight && to.alpha == .premultiplied:
                self = .premultiply(channels: count, bits: a)
            case (let a, let b) where a == b && from.alpha == .premultiplied && to.alpha == .straight:
                self = .unpremultiply(channels: count, bits: a)
            case (8, 8) where count == 4 && from.alpha == .straight && to.alpha == .opaque:
                self = .flatten(channels: 4, swaps: false, under: Self.ordered(background, to))
            default: return nil
            }
            return
        }
        guard from.bits == 8, to.bits == 8 else { return nil }
        switch (from.channels, to.channels) {
        case (.rgb, .rgba), (.rgb, .bgra): self = .expandRGB(swaps: to.channels == .bgra)
        case (.gray, .rgb), (.gray, .rgba), (.gray, .bgra): self = .expandGray(channels: count)
        case (.cmyk, .rgb), (.cmyk, .rgba): self = .inksToLight(channels: count)
        case (.rgba, .rgb) where !from.hasTransparency, (.bgra, .rgb) where !from.hasTransparency:
            self = .dropAlpha(swaps: from.channels == .bgra)
        case (.rgba, .bgra) where keepsAlpha, (.bgra, .rgba) where keepsAlpha: self = .swapColors
        case (.rgba, _) where from.alpha == .straight && !to.hasTransparency && count > 2,
            (.bgra, _) where from.alpha == .straight && !to.hasTransparency && count > 2:
            let swaps = (from.channels == .bgra) != (to.channels == .bgra)
            self = .flatten(channels: count, swaps: swaps, under: Self.ordered(background, to))
        default: return nil
        }
    }

    /// Returns the color with its samples in the order of a format.
    private static func ordered(_ color: RGBAColor, _ format: PixelFormat) -> RGBAColor {
        format.channels == .bgra ? RGBAColor(red: color.blue, green: color.green, blue: color.red) : color
    }

    func convert(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
        if case .copy = self {
            target.copy(source)
            return
        }
        unsafe source.withUnsafeBytes { from in
            unsafe target.withUnsafeMutableBytes { to in unsafe convert(from, to, count) }
        }
    }

    /// The number of bytes in one pixel before and after the conversion.
    private var pixelBytes: (Int, Int) {
        switch self {
        case .copy: (0, 0)
        case .expandRGB: (3, 4)
        case .dropAlpha: (4, 3)
        case .swapColors: (4, 4)
        case .expandGray(let channels): (1, channels)
        case .narrow(let channels): (2 * channels, channels)
        case .widen(let channels): (channels, 2 * channels)
        case .premultiply(let channels, let bits), .unpremultiply(let channels, let bits):
            (channels * bits / 8, channels * bits / 8)
        case .flatten(let channels, _, _), .inksToLight(let channels): (4, channels)
        }
    }

    private func convert(_ from: UnsafeRawBufferPointer, _ to: UnsafeMutableRawBufferPointer, _ pixels: Int) {
        let (before, after) = pixelBytes
        precondition(pixels >= 0 && from.count >= pixels * before && to.count >= pixels * after)
        guard let source = from.baseAddress, let target = to.baseAddress else { return }
        let bytes = unsafe source.assumingMemoryBound(to: UInt8.self)
        let result = unsafe target.assumingMemoryBound(to: UInt8.self)
        let count = UInt64(pixels)
        switch self {
        case .copy: break
        case .expandRGB(let swaps): unsafe pixel_expand_rgb(bytes, result, count, swaps ? 1 : 0)
        case .dropAlpha(let swaps): unsafe pixel_drop_alpha(bytes, result, count, swaps ? 1 : 0)
        case .swapColors: unsafe pixel_swap_colors(bytes, result, count)
        case .expandGray(let channels): unsafe pixel_expand_gray(bytes, result, count, Int32(channels))
        case .narrow(let channels): unsafe pixel_narrow(source, result, count * UInt64(channels))
        case .widen(let channels): unsafe pixel_widen(bytes, target, count * UInt64(channels))
        case .premultiply(let channels, 8): unsafe pixel_premultiply_8(bytes, result, count, Int32(channels))
        case .premultiply(let channels, _): unsafe pixel_premultiply_16(source, target, count, Int32(channels))
        case .unpremultiply(let channels, 8): unsafe pixel_unpremultiply_8(bytes, result, count, Int32(channels))
        case .unpremultiply(let channels, _):
            unsafe pixel_unpremultiply_16(source, target, count, Int32(channels))
        case .flatten(let channels, let swaps, let under):
            unsafe pixel_flatten(
                bytes, result, count, Int32(channels), swaps ? 1 : 0, [under.red, under.green, under.blue])
        case .inksToLight(let channels): unsafe pixel_inks_to_light(bytes, result, count, Int32(channels))
        }
    }
}
