import ImageModel

/// Selects how the colors of a source are converted to those of a target.
struct ColorPlan {
    enum Steps {
        case none
        case shape(ColorShape, Matrix3)
        case library(LibraryTransform)
    }

    /// The source profile after invalid parts were replaced.
    private let source: ColorProfile
    private let sourceFormat: PixelFormat
    private let target: ColorProfile
    private let mapping: ToneMapping
    private let contents: ProfileReader.Contents?
    private let warning: String?

    /// - Throws: see ``ColorTransform``.
    static func make(
        _ source: ColorProfile, _ sourceFormat: PixelFormat, _ target: ColorProfile, _ format: PixelFormat,
        _ mapping: ToneMapping
    ) throws(CoderError) -> (steps: Steps, warning: String?) {
        let plan = ColorPlan(source, sourceFormat, target, mapping)
        do throws(CoderError) {
            return (try plan.steps(to: format), plan.warning)
        } catch {
            guard plan.contents != nil else { throw error }
            // The profile opened, but its tables are unusable. If the target is at fault, this throws again.
            let without = ColorPlan(.assumed, sourceFormat, target, mapping)
            return (try without.steps(to: format), "the color profile was ignored: it is damaged")
        }
    }

    private init(
        _ source: ColorProfile, _ sourceFormat: PixelFormat, _ target: ColorProfile, _ mapping: ToneMapping
    ) {
        self.sourceFormat = sourceFormat
        self.target = target
        self.mapping = mapping
        let space = ICCHeader.Space(sourceFormat.channels)
        switch source {
        case .icc(let bytes):
            let reason: String
            do throws(ICCHeader.Refusal) {
                let header = try ICCHeader(bytes)
                if header.space != space {
                    reason = "it is for \(header.space.name), the image is \(space.name)"
                } else if let points = ICCHeader.codePoints(in: bytes),
                    points.transfer == 16 || points.transfer == 18, ColorProfile.codePoints(points).model != nil,
                    space != .cmyk
                {
                    (self.source, contents, warning) = (.codePoints(points), nil, nil)
                    return
                } else if let contents = ProfileReader.read(bytes, isGray: space == .gray) {
                    (self.source, self.contents, warning) = (source, contents, nil)
                    return
                } else {
                    reason = "it is damaged"
                }
            } catch { reason = error.reason }
            (self.source, contents) = (.assumed, nil)
            warning = "the color profile was ignored: \(reason)"
        case .codePoints(let points) where source.model == nil:
            (self.source, contents) = (.assumed, nil)
            warning = "the code points \(points.primaries)/\(points.transfer) were ignored: they are not supported"
        case .codePoints where space == .cmyk, .calibrated where space == .cmyk, .sRGB where space == .cmyk:
            (self.source, contents, warning) = (.assumed, nil, "a color description was ignored: inks have none")
        default: (self.source, contents, warning) = (source, nil, nil)
        }
    }

    private func steps(to format: PixelFormat) throws(CoderError) -> Steps {
        if case .icc(let bytes) = target { return try steps(to: bytes, format) }
        guard let model = target.model, !model.curve.isHighDynamicRange else {
            throw .unsupported("colors of \(target) as a target")
        }
        guard format.channels != .cmyk else {
            if sourceFormat.channels == .cmyk, source == .assumed, target == .assumed { return .none }
            throw .unsupported("inks without a profile as a target")
        }
        if sourceFormat.channels == .cmyk, source == .assumed {
            if model == ColorProfile.sRGB.model { return .none }
            throw .unsupported("inks without a profile as \(target)")
        }
        let isGray = sourceFormat.channels.count <= 2
        if let own = source.model, own.curve == model.curve, isGray || own.space == model.space { return .none }
        guard model.curve == .sRGB, let shape else { return try library(to: nil, format) }
        // Gray has no primaries.
        if isGray {
            return shape.isSRGBInEffect ? .none : .shape(shape, .identity)
        }
        guard let matrix = ColorShape.matrix(shape.toConnectionSpace, to: model.space) else {
            throw .unsupported("colors of \(target) as a target")
        }
        if model.space == .bt709, shape.isSRGBInEffect { return .none }
        return .shape(shape, matrix)
    }

    /// The curves and matrix of the source; nil if it has more than those.
    private var shape: ColorShape? {
        if case .shape(let shape) = contents { return shape }
        guard let model = source.model else { return nil }
        let space = sourceFormat.channels.count <= 2 ? Chromaticities.bt709 : model.space
        return ColorShape(ColorModel(space: space, curve: model.curve), mapping)
    }

    private func steps(to bytes: [UInt8], _ format: PixelFormat) throws(CoderError) -> Steps {
        if source == target, ICCHeader.Space(sourceFormat.channels) == ICCHeader.Space(format.channels) { return .none }
        do throws(ICCHeader.Refusal) {
            guard try ICCHeader(bytes).space == ICCHeader.Space(format.channels) else {
                throw .init("it is for other pixels than \(format)")
            }
        } catch {
            throw .invalidArgument("the target's color profile cannot be used: \(error.reason)")
        }
        return try library(to: bytes, format)
    }

    /// Returns a Little CMS transform, for everything except curves and a matrix to sRGB.
    private func library(to bytes: [UInt8]?, _ format: PixelFormat) throws(CoderError) -> Steps {
        let isGray = sourceFormat.channels.count <= 2
        guard sourceFormat.channels != .cmyk || source != .assumed, let profile = source.iccBytes(isGray: isGray) else {
            throw .unsupported("colors of \(source) as \(target)")
        }
        guard let goal = bytes ?? target.iccBytes(isGray: format.channels.count <= 2) else {
            throw .unsupported("colors of \(target) as a target")
        }
        var isExact = false
        if shape != nil, case .shape = ProfileReader.read(goal, isGray: format.channels.count <= 2) { isExact = true }
        guard let transform = LibraryTransform(profile, sourceFormat, goal, format, isExact: isExact) else {
            // Each profile opened by itself or was generated here, but the library rejects the combination.
            throw .unsupported("colors of \(source) as \(target)")
        }
        return .library(transform)
    }
}
