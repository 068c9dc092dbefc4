internal import CoderPluginKit
internal import ImageModel

/// How the samples of a page become pixels.
struct PageForm {
    enum Color: Equatable {
        case gray, invertedGray, rgb, cmyk
        /// An index into the color map.
        case palette
        case lab(LabEncoding)
        /// XYZ relative to white, as libtiff delivers LogLuv.
        case xyz
    }

    /// The numbers of a stored sample.
    enum Sample: Equatable {
        case unsigned, signed, float
    }

    let color: Color
    let sample: Sample
    /// The number of bits of a stored sample.
    let bits: Int
    /// The number of stored samples in a pixel.
    let samples: Int
    /// Whether the samples are linear light with the primaries of sRGB.
    let isLinear: Bool
    /// The number of the alpha sample.
    private(set) var alpha: Int?
    private(set) var format: PixelFormat
    /// The dropped or changed parts of the image, for warnings.
    private(set) var losses: [String] = []

    /// Whether stored rows already have the pixel format.
    var isCopy: Bool {
        let isPlain = color == .gray || color == .rgb || color == .cmyk
        return isPlain && sample != .signed && format.bits == bits && format.channels.count == samples
            && (format.numeric == .float) == (sample == .float)
    }

    /// Whether 16-bit samples do not hold all values.
    var isWide: Bool {
        if case .lab = color { return true }
        return sample == .float || bits > 16
    }

    /// The number of samples that carry color.
    var colors: Int {
        switch color {
        case .gray, .invertedGray, .palette: 1
        case .rgb, .lab, .xyz: 3
        case .cmyk: 4
        }
    }

    /// The form of a page that the library converts to RGB.
    static let rgb = PageForm(color: .rgb, sample: .unsigned, bits: 8, samples: 3, format: .rgb8)

    private init(color: Color, sample: Sample, bits: Int, samples: Int, format: PixelFormat) {
        (self.color, self.sample, self.bits, self.samples) = (color, sample, bits, samples)
        self.format = format
        isLinear = false
    }

    /// - Parameter keepsFloats: whether floats and wide integers become floats; otherwise they become 16-bit samples.
    /// - Throws: `.unsupported`, `.corrupt`.
    init(_ page: Page.Meaning, keepsFloats: Bool) throws(CoderError) {
        bits = page.bits
        samples = page.samples
        switch page.sampleFormat {
        case 1, 4: sample = .unsigned
        case 2: sample = .signed
        case 3: sample = .float
        case 5, 6: throw .unsupported("a TIFF of complex numbers")
        default: throw .unsupported("TIFF sample format \(page.sampleFormat)")
        }
        color = try Self.color(page)
        switch color {
        case .lab, .xyz: isLinear = true
        default: isLinear = page.photometric == Self.logL
        }
        format = .gray8
        guard samples >= colors else { throw .corrupt("\(samples) samples do not make a color of \(colors)") }
        let isValid = sample == .float ? [16, 24, 32, 64].contains(bits) : (1...32).contains(bits) || bits == 64
        guard isValid else { throw .unsupported("a TIFF of \(bits)-bit \(sample == .float ? "floats" : "integers")") }
        guard color != .palette || (bits <= 16 && sample == .unsigned) else {
            throw .unsupported("a palette with \(bits) bits per sample")
        }
        if case .lab = color, bits != 8 && bits != 16 || sample == .float {
            throw .unsupported("Lab colors of \(bits) bits")
        }
        if color == .cmyk, sample != .unsigned || bits > 16 { throw .unsupported("CMYK with \(bits) bits per sample") }
        if color == .xyz, sample != .float { throw .unsupported("LogLuv colors with this compression") }
        readExtras(page)
        format = makeFormat(page, keepsFloats: keepsFloats)
    }

    /// The photometric interpretation of luminance without color, which libtiff delivers as linear light.
    private static let logL = 32_844

    private static func color(_ page: Page.Meaning) throws(CoderError) -> Color {
        switch page.photometric {
        case 0: return .invertedGray
        case 1, 4, logL: return .gray
        case 2: return .rgb
        case 3: return .palette
        case 5:
            guard page.inkSet == 1 else { throw .unsupported("a TIFF with inks other than CMYK") }
            return .cmyk
        case 6: throw .unsupported("YCbCr with \(page.bits) bits per sample")
        case 8: return page.samples == 1 ? .gray : .lab(.cie)
        case 9: return .lab(.icc)
        case 10: return .lab(.itu)
        case 32_845: return .xyz
        case 32_803, 34_892: throw .notMine("the page holds camera raw data")
        default: throw .unsupported("TIFF photometric interpretation \(page.photometric)")
        }
    }

    private mutating func readExtras(_ page: Page.Meaning) {
        guard samples > colors else { return }
        if color == .gray || color == .invertedGray || color == .rgb {
            alpha = page.extras.prefix(samples - colors).firstIndex { $0 == 1 || $0 == 2 }.map { $0 + colors }
        }
        let dropped = samples - colors - (alpha == nil ? 0 : 1)
        if dropped > 0 {
            let samples =
                dropped == 1 ? "an extra sample of each pixel is" : "\(dropped) extra samples of each pixel are"
            losses.append("\(samples) dropped")
        }
    }

    private mutating func makeFormat(_ page: Page.Meaning, keepsFloats: Bool) -> PixelFormat {
        var mode: PixelFormat.Alpha?
        if let alpha { mode = page.extras[alpha - colors] == 1 ? .premultiplied : .straight }
        let channels: PixelFormat.Channels =
            switch color {
            case .gray, .invertedGray: alpha == nil ? .gray : .grayAlpha
            case .rgb: alpha == nil ? .rgb : .rgba
            case .cmyk: .cmyk
            case .palette, .lab, .xyz: .rgb
            }
        if sample == .signed { losses.append("signed samples are shifted to unsigned ones") }
        if isWide {
            guard keepsFloats else {
                if bits > 16 || sample == .float {
                    let kind = sample == .float ? "floats" : "integers"
                    losses.append("\(bits)-bit \(kind) become 16-bit samples; tiff.float=true makes floats of them")
                }
                return PixelFormat(channels, bits: 16, alpha: mode)
            }
            if bits == 64 || bits > 24 && sample != .float { losses.append("\(bits)-bit numbers become 32-bit floats") }
            let isHalf = bits == 16 && sample == .float && color != .invertedGray
            return PixelFormat(channels, bits: isHalf ? 16 : 32, numeric: .float, alpha: mode)
        }
        return PixelFormat(channels, bits: bits > 8 && color != .palette ? 16 : 8, alpha: mode)
    }

    /// Returns the form for a color map; most maps hold 8 bits, in the high or in the low byte.
    func with(_ map: ColorMap) -> PageForm {
        var form = self
        form.format = map.is16 ? .rgb16 : .rgb8
        if map.isLow { form.losses.append("the color map has 8-bit numbers in place of 16-bit ones") }
        return form
    }
}
