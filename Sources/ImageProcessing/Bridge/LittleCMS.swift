import CPixelKernels
import CPixelLibraries
import ImageModel

/// Reads ICC profiles with Little CMS.
enum ProfileReader {
    enum Contents {
        /// Curves and a matrix describe the profile completely.
        case shape(ColorShape)
        /// Tables, or curves that do not start at black: only the library can apply them.
        case tables
    }

    /// Returns nil if the library rejects the bytes.
    static func read(_ bytes: [UInt8], isGray: Bool) -> Contents? {
        let profile = unsafe bytes.withUnsafeBytes {
            unsafe lcmsshim_profile_open($0.baseAddress, UInt64($0.count))
        }
        guard let profile = unsafe profile else { return nil }
        defer { unsafe lcmsshim_profile_close(profile) }
        guard unsafe lcmsshim_profile_is_shaper(profile) != 0 else { return .tables }
        var curves: [Float] = []
        for channel in isGray ? [3, 3, 3] : [0, 1, 2] {
            var curve = [Float](repeating: 0, count: ColorShape.sampleCount)
            let isThere = unsafe curve.withUnsafeMutableBufferPointer {
                unsafe lcmsshim_profile_curve(profile, Int32(channel), $0.baseAddress, UInt32($0.count))
            }
            guard isThere != 0, curve.allSatisfy(\.isFinite) else { return nil }
            curves += curve.map { min(max($0, 0), 1) }
            // Black point compensation would change such a curve.
            if curve[0] > 1e-4 || curve[curve.count - 1] < 0.999 { return .tables }
        }
        var matrix = Matrix3.identity
        if isGray {
            // Any matrix works that maps to the connection space's white and back.
            guard let neutral = Chromaticities.bt709.toConnectionSpace else { return nil }
            matrix = neutral
        } else {
            let isThere = unsafe matrix.rows.withUnsafeMutableBufferPointer {
                unsafe lcmsshim_profile_matrix(profile, $0.baseAddress)
            }
            guard isThere != 0, matrix.isFinite else { return nil }
        }
        return .shape(ColorShape(curves: curves, toConnectionSpace: matrix))
    }
}

/// A Little CMS transform for two pixel formats.
// Sendable because: the transform was created without the cache of the last pixel, so running it only reads.
@safe final class LibraryTransform: @unchecked Sendable {
    private let transform: OpaquePointer
    private let (from, to): (PixelFormat, PixelFormat)
    private let (inputs, outputs): (Int32, Int32)
    private let isFloat: Bool

    /// Returns nil if the library rejects one of the profiles.
    ///
    /// - Parameter isExact: whether each pixel passes through curves and matrices. By default the library would use a
    ///   table instead, which is wrong by some levels at the edge of the gamut.
    init?(_ source: [UInt8], _ from: PixelFormat, _ target: [UInt8], _ to: PixelFormat, isExact: Bool) {
        (self.from, self.to) = (from, to)
        let (inputs, outputs) = (ICCHeader.Space(from.channels).channels, ICCHeader.Space(to.channels).channels)
        let isFloat = from.numeric == .float
        (self.inputs, self.outputs, self.isFloat) = (inputs, outputs, isFloat)
        let transform = unsafe source.withUnsafeBytes { source in
            unsafe target.withUnsafeBytes { target in
                var request = unsafe lcmsshim_request(
                    source: source.baseAddress, target: target.baseAddress, source_count: UInt64(source.count),
                    target_count: UInt64(target.count), source_channels: inputs, target_channels: outputs,
                    is_float: isFloat ? 1 : 0, is_fine: from.bits > 8 ? 1 : 0,
                    is_exact: isExact ? 1 : 0)
                return unsafe lcmsshim_transform_create(&request)
            }
        }
        guard let transform = unsafe transform else { return nil }
        unsafe self.transform = transform
    }

    deinit { unsafe lcmsshim_transform_free(transform) }

    func convert(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
        let chunk = Int(PIXEL_CHUNK)
        // Per pixel: three colors, alpha, and two work areas of four samples.
        unsafe withUnsafeTemporaryAllocation(of: Float.self, capacity: 13 * chunk) { scratch in
            let color = scratch.baseAddress!
            let alpha = unsafe color + 4 * chunk
            let input = unsafe UnsafeMutableRawPointer(alpha + chunk)
            let output = unsafe UnsafeMutableRawPointer(alpha + 5 * chunk)
            unsafe source.withUnsafeBytes { source in
                unsafe target.withUnsafeMutableBytes { target in
                    for x in stride(from: 0, to: count, by: chunk) {
                        let (first, part) = (UInt64(x), UInt64(min(chunk, count - x)))
                        unsafe pixel_unpack(source.baseAddress, pixel_layout(from), first, part, color, alpha)
                        unsafe pixel_to_samples(color, part, inputs, isFloat ? 1 : 0, input)
                        unsafe lcmsshim_transform_run(transform, input, output, UInt32(part))
                        unsafe pixel_from_samples(output, part, outputs, isFloat ? 1 : 0, color)
                        unsafe pixel_pack(target.baseAddress, pixel_layout(to), first, part, color, alpha)
                    }
                }
            }
        }
    }
}
