import HostSystem
package import ImageModel

/// Converts pixels from one format to another.
///
/// The rules: 16 → 8 bits keeps the high byte; 8 → 16 bits repeats the byte; gray is the BT.709 luma of the stored
/// values; CMYK becomes R = (255 − C)(255 − K)/255, and G and B likewise; computed values round to nearest. If only the
/// target format lacks transparency, the image is drawn on the background. Color profiles are not applied.
package enum PixelConverter {
    /// Returns the image in another format; the same buffer if nothing changes.
    ///
    /// - Throws: `.unsupportedFeature` for float samples, `.outOfMemory`.
    package static func convert(
        _ buffer: PixelBuffer, to format: PixelFormat,
        background: RGBAColor = RGBAColor(red: 255, green: 255, blue: 255),
        pool: PixelBufferPool = .shared
    ) throws(CoderError) -> PixelBuffer {
        if buffer.format == format { return buffer }
        let result = try pool.take(buffer.size, format, clean: false)
        let row = try RowConverter(from: buffer.format, to: format, background: background)
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { source in
                result.withMutableRow(y) { target in row.convert(source, &target, count: buffer.size.width) }
            }
        }
        return result
    }

    /// Returns a copy of the pixels in separate memory.
    package static func copy(_ buffer: PixelBuffer, pool: PixelBufferPool = .shared) throws(CoderError) -> PixelBuffer {
        let result = try pool.take(buffer.size, buffer.format, clean: false)
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { source in result.withMutableRow(y) { $0.copy(source) } }
        }
        return result
    }

    /// Returns the image with its orientation applied.
    package static func upright(
        _ buffer: PixelBuffer, _ orientation: Orientation, pool: PixelBufferPool = .shared
    ) throws(CoderError) -> PixelBuffer {
        if orientation == .up { return buffer }
        let size = orientation.applied(to: buffer.size)
        let result = try pool.take(size, buffer.format, clean: false)
        turnPixels(buffer, into: result, orientation)
        return result
    }
}

/// Converts rows between two formats.
package struct RowConverter {
    private let from: PixelFormat
    private let to: PixelFormat
    private let background: RGBAColor
    /// The kernel that converts a whole row in one call, for pairs of formats that have one.
    private let kernel: RowKernel?

    /// Whether a whole row is converted in one call.
    var hasKernel: Bool { kernel != nil }

    package init(from: PixelFormat, to: PixelFormat, background: RGBAColor) throws(CoderError) {
        guard from.numeric == .unorm, to.numeric == .unorm else {
            throw .unsupported("the conversion of \(from) to \(to)")
        }
        guard to.channels != .cmyk || from.channels == .cmyk else {
            throw .unsupported("the conversion of \(from) to \(to)")
        }
        self.from = from
        self.to = to
        self.background = background
        kernel = RowKernel(from: from, to: to, background: background)
    }

    package func convert(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
        if let kernel {
            kernel.convert(source, &target, count: count)
        } else {
            convertPixels(source, &target, count: count)
        }
    }

    /// Converts any pair of formats pixel by pixel; the reference for the kernels.
    func convertPixels(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
        for x in 0..<count {
            var pixel = load(source, x)
            if from.alpha == .premultiplied && to.alpha != .premultiplied { pixel.unpremultiply() }
            if from.hasTransparency && !to.hasTransparency { pixel.flatten(background) }
            if to.alpha == .premultiplied && from.alpha != .premultiplied { pixel.premultiply() }
            store(pixel, &target, x)
        }
    }

    /// One pixel as 16 bit RGBA.
    private struct Pixel {
        var red, green, blue, alpha: UInt32

        mutating func premultiply() {
            red = (red * alpha + 32_767) / 65_535
            green = (green * alpha + 32_767) / 65_535
            blue = (blue * alpha + 32_767) / 65_535
        }

        mutating func unpremultiply() {
            guard alpha > 0 else {
                (red, green, blue) = (0, 0, 0)
                return
            }
            red = min(65_535, (red * 65_535 + alpha / 2) / alpha)
            green = min(65_535, (green * 65_535 + alpha / 2) / alpha)
            blue = min(65_535, (blue * 65_535 + alpha / 2) / alpha)
        }

        mutating func flatten(_ background: RGBAColor) {
            func mix(_ value: UInt32, _ under: UInt8) -> UInt32 {
                (value * alpha + UInt32(under) * 257 * (65_535 - alpha) + 32_767) / 65_535
            }
            red = mix(red, background.red)
            green = mix(green, background.green)
            blue = mix(blue, background.blue)
            alpha = 65_535
        }
    }

    private func sample(_ source: RawSpan, _ index: Int) -> UInt32 {
        from.bits == 8 ? UInt32(source.byte(at: index)) * 257 : UInt32(source.native(at: index * 2, as: UInt16.self))
    }

    private func load(_ source: RawSpan, _ x: Int) -> Pixel {
        let base = x * from.channels.count
        func value(_ index: Int) -> UInt32 { sample(source, base + index) }
        switch from.channels {
        case .gray: return Pixel(red: value(0), green: value(0), blue: value(0), alpha: 65_535)
        case .grayAlpha: return Pixel(red: value(0), green: value(0), blue: value(0), alpha: value(1))
        case .rgb: return Pixel(red: value(0), green: value(1), blue: value(2), alpha: 65_535)
        case .rgba: return Pixel(red: value(0), green: value(1), blue: value(2), alpha: value(3))
        case .bgra: return Pixel(red: value(2), green: value(1), blue: value(0), alpha: value(3))
        case .cmyk:
            // In units of 8 bits, so that the rule is exact to the byte.
            func ink(_ index: Int) -> UInt32 {
                let color = 255 - value(index) >> 8
                let black = 255 - value(3) >> 8
                return (color * black + 127) / 255 * 257
            }
            return Pixel(red: ink(0), green: ink(1), blue: ink(2), alpha: 65_535)
        }
    }

    private func store(_ pixel: Pixel, _ target: inout MutableRawSpan, _ x: Int) {
        let base = x * to.channels.count
        func put(_ index: Int, _ value: UInt32, _ target: inout MutableRawSpan) {
            if to.bits == 8 {
                // An 8-bit input is a multiple of 257 unless a computation changed it.
                let byte = from.bits == 8 ? (value + 128) / 257 : value >> 8
                target.setByte(base + index, UInt8(truncatingIfNeeded: byte))
            } else {
                target.setPair(base + index, UInt16(truncatingIfNeeded: value))
            }
        }
        switch to.channels {
        case .gray, .grayAlpha:
            let isGray = pixel.red == pixel.green && pixel.green == pixel.blue
            let luma = isGray ? pixel.red : (pixel.red * 2126 + pixel.green * 7152 + pixel.blue * 722 + 5000) / 10_000
            put(0, luma, &target)
            if to.channels == .grayAlpha { put(1, pixel.alpha, &target) }
        case .rgb, .rgba:
            put(0, pixel.red, &target)
            put(1, pixel.green, &target)
            put(2, pixel.blue, &target)
            if to.channels == .rgba { put(3, pixel.alpha, &target) }
        case .bgra:
            put(0, pixel.blue, &target)
            put(1, pixel.green, &target)
            put(2, pixel.red, &target)
            put(3, pixel.alpha, &target)
        case .cmyk:
            preconditionFailure("refused by init")
        }
    }
}
