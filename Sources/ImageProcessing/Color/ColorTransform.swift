public import ImageModel

/// Makes the colours of one space and pixel format those of another, row by row.
///
/// The rules, stated once: relative colorimetric with black point compensation; what the target cannot show is clipped
/// to it; alpha is passed through, and premultiplied colours are divided by it first. A source without a profile is
/// sRGB, its gray, or inks by the formula of ``PixelConverter``. PQ and HLG are tone mapped, because numbers beyond the
/// screen cannot be relabelled. A profile that is damaged, or of another kind than the pixels (gray pixels with an RGB
/// profile and the reverse), is a ``warning`` and counts as none.
///
/// - Concurrency: any number of threads at once.
public final class ColorTransform: Sendable {
    public let sourceFormat: PixelFormat
    public let targetFormat: PixelFormat
    /// Why the source's profile was not used.
    public let warning: String?
    private let engine: Engine
    /// The last step, where gray comes out of colours.
    private let gray: (format: PixelFormat, row: RowConverter)?

    private enum Engine: Sendable {
        /// Nothing but the storage of samples changes.
        case repack(RowConverter?)
        case kernel(ColorKernel)
        case library(LibraryTransform)
    }

    /// Whether numbers change their meaning; otherwise at most their storage does.
    public var changesColors: Bool {
        if case .repack = engine { sourceFormat.channels == .cmyk && targetFormat.channels != .cmyk } else { true }
    }

    /// Whether rows come out as they went in.
    public var isIdentity: Bool { !changesColors && sourceFormat == targetFormat }

    /// Prepares a transform; ``ColorTransformCache`` keeps those that were prepared.
    ///
    /// - Throws: `.unsupportedFeature` for a target that cannot be made of the source: inks without a profile of inks,
    ///   PQ and HLG, a format without alpha for a picture with some; `.invalidArgument` for a damaged target profile.
    public init(
        from source: ColorProfile, _ sourceFormat: PixelFormat, to target: ColorProfile, _ targetFormat: PixelFormat,
        toneMapping: ToneMapping = .standard
    ) throws(CoderError) {
        guard sourceFormat.isValid, targetFormat.isValid else {
            let invalid = sourceFormat.isValid ? targetFormat : sourceFormat
            throw .invalidArgument("there are no pixels of the format \(invalid)")
        }
        guard targetFormat.channels.hasAlpha || !sourceFormat.hasTransparency else {
            throw .unsupported("colours of \(sourceFormat) as \(targetFormat): transparency has to be resolved before")
        }
        self.sourceFormat = sourceFormat
        self.targetFormat = targetFormat
        // Colours to gray: their luma in the target's space.
        var format = targetFormat
        if sourceFormat.channels.count > 2, targetFormat.channels.count <= 2 {
            format = PixelFormat(
                targetFormat.channels.hasAlpha ? .rgba : .rgb, bits: targetFormat.bits, numeric: targetFormat.numeric,
                alpha: targetFormat.alpha)
            gray = (format, try RowConverter(from: format, to: targetFormat, background: .white))
        } else {
            gray = nil
        }
        let steps: ColorPlan.Steps
        (steps, warning) = try ColorPlan.make(source, sourceFormat, target, format, toneMapping)
        switch steps {
        case .none:
            let isUnorm = sourceFormat.numeric == .unorm && format.numeric == .unorm
            if !isUnorm, (sourceFormat.channels == .cmyk) != (format.channels == .cmyk) {
                throw .unsupported("the conversion of \(sourceFormat) to \(format)")
            }
            let row = isUnorm ? try RowConverter(from: sourceFormat, to: format, background: .white) : nil
            engine = .repack(row)
        case .shape(let shape, let matrix):
            guard let kernel = ColorKernel(shape, matrix: matrix, from: sourceFormat, to: format) else {
                throw CoderError(.outOfMemory, "no memory for a colour transform")
            }
            engine = .kernel(kernel)
        case .library(let transform): engine = .library(transform)
        }
    }

    /// Converts `count` pixels.
    ///
    /// - Shape: both spans have at least the bytes of `count` pixels.
    public func convert(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
        precondition(count >= 0 && source.byteCount >= count * sourceFormat.bytesPerPixel)
        precondition(target.byteCount >= count * targetFormat.bytesPerPixel)
        guard let gray else { return run(source, &target, targetFormat, count: count) }
        var colors = [UInt8](repeating: 0, count: count * gray.format.bytesPerPixel)
        colors.withMutableSpan { run(source, &$0, gray.format, count: count) }
        colors.withSpan { gray.row.convert($0, &target, count: count) }
    }

    private func run(_ source: RawSpan, _ target: inout MutableRawSpan, _ format: PixelFormat, count: Int) {
        switch engine {
        case .repack(let row?): row.convert(source, &target, count: count)
        case .repack(nil): ColorKernel.repack(source, sourceFormat, &target, format, count: count)
        case .kernel(let kernel): kernel.convert(source, &target, count: count)
        case .library(let transform): transform.convert(source, &target, count: count)
        }
    }

    /// The whole picture; the same buffer where nothing has to be done.
    ///
    /// - Throws: `.misuse` for a buffer of another format, `.outOfMemory`.
    package func convert(_ buffer: PixelBuffer, pool: PixelBufferPool = .shared) throws(CoderError) -> PixelBuffer {
        guard buffer.format == sourceFormat else {
            throw CoderError(.misuse, "the transform is for \(sourceFormat), the picture is \(buffer.format)")
        }
        if isIdentity { return buffer }
        let result = try pool.take(buffer.size, targetFormat, clean: false)
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { source in
                result.withMutableRow(y) { target in convert(source, &target, count: buffer.size.width) }
            }
        }
        return result
    }
}
