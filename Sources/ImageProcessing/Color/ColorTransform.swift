import HostSystem
package import ImageModel

/// Converts colors from one color space and pixel format to another, row by row.
///
/// The conversion is relative colorimetric with black point compensation, clips to the target's gamut and keeps alpha.
/// Premultiplied colors are divided by alpha first. A source without a profile counts as sRGB, its gray, or CMYK by the
/// formula of ``PixelConverter``. PQ and HLG are tone mapped, because their values exceed screen white. A damaged
/// profile, or one for other pixels (for example RGB for gray pixels), is ignored with a ``warning``.
///
/// - Concurrency: any number of threads at once.
package final class ColorTransform: Sendable {
    /// The pixel format of the source.
    package let sourceFormat: PixelFormat
    /// The pixel format of the target.
    package let targetFormat: PixelFormat
    /// The reason why the source's profile was not used.
    package let warning: String?
    private let engine: Engine
    /// The last step, if the target is gray and the transform yields colors.
    private let gray: (format: PixelFormat, row: RowConverter)?

    private enum Engine: Sendable {
        /// Only the storage of samples changes.
        case repack(RowConverter?)
        case kernel(ColorKernel)
        case library(LibraryTransform)
    }

    /// Whether sample values change their meaning; otherwise at most their storage changes.
    package var changesColors: Bool {
        if case .repack = engine { sourceFormat.channels == .cmyk && targetFormat.channels != .cmyk } else { true }
    }

    /// Whether rows are returned unchanged.
    package var isIdentity: Bool { !changesColors && sourceFormat == targetFormat }

    /// Prepares a transform; ``ColorTransformCache`` keeps prepared transforms.
    ///
    /// - Throws: `.unsupportedFeature` for a target that cannot be made from the source: CMYK without a profile, PQ and
    ///   HLG, or a format without alpha for a transparent image; `.invalidArgument` for a damaged target profile.
    package init(
        from source: ColorProfile, _ sourceFormat: PixelFormat, to target: ColorProfile, _ targetFormat: PixelFormat,
        toneMapping: ToneMapping = .standard
    ) throws(CoderError) {
        guard sourceFormat.isValid, targetFormat.isValid else {
            let invalid = sourceFormat.isValid ? targetFormat : sourceFormat
            throw .invalidArgument("there are no pixels of the format \(invalid)")
        }
        guard targetFormat.channels.hasAlpha || !sourceFormat.hasTransparency else {
            throw .unsupported("colors of \(sourceFormat) as \(targetFormat): transparency has to be resolved before")
        }
        self.sourceFormat = sourceFormat
        self.targetFormat = targetFormat
        // Gray is computed as the luma of the colors in the target's space.
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
                throw CoderError(.outOfMemory, "no memory for a color transform")
            }
            engine = .kernel(kernel)
        case .library(let transform): engine = .library(transform)
        }
    }

    /// Converts `count` pixels.
    ///
    /// - Shape: both spans have at least the bytes of `count` pixels.
    package func convert(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
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

    /// Converts a whole image; returns the same buffer if nothing changes.
    ///
    /// - Throws: `.misuse` for a buffer of another format, `.outOfMemory`.
    package func convert(_ buffer: PixelBuffer, pool: PixelBufferPool = .shared) throws(CoderError) -> PixelBuffer {
        guard buffer.format == sourceFormat else {
            throw CoderError(.misuse, "the transform is for \(sourceFormat), the image is \(buffer.format)")
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
