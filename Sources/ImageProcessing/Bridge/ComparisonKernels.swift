import CPixelKernels
import ImageModel

/// The comparison kernels, for rows in arrays: interleaved RGBA of 8 or 16 bits, native endian.
enum ComparisonKernels {
    static func premultiply(_ row: inout [UInt8], bits: Int) {
        let count = UInt64(row.count / (bits / 2))
        unsafe row.withUnsafeMutableBytes { row in
            if bits == 8 {
                unsafe pixel_premultiply_rgba8(row.baseAddress!.assumingMemoryBound(to: UInt8.self), count)
            } else {
                unsafe pixel_premultiply_rgba16(row.baseAddress!.assumingMemoryBound(to: UInt16.self), count)
            }
        }
    }

    /// The differences of two rows; channels in the order red, green, blue, alpha.
    struct RowDifference: Equatable {
        /// The sums of the differences and of their squares.
        var absolute: [UInt64]
        var squared: [UInt64]
        /// The number of pixels with at least one different sample.
        var differing: Int
        var maximum: Int
        /// Whether a pixel of either row is not opaque.
        var hasAlpha: Bool
    }

    /// Selects the portable loops, for tests; the results are the same.
    static func usePortable(_ isPortable: Bool) { pixel_comparison_force_portable(isPortable ? 1 : 0) }

    static func difference(_ a: [UInt8], _ b: [UInt8], bits: Int) -> RowDifference {
        precondition(a.count == b.count)
        var result = pixel_row_difference()
        let count = UInt64(a.count / (bits / 2))
        unsafe a.withUnsafeBytes { a in
            unsafe b.withUnsafeBytes { b in
                if bits == 8 {
                    unsafe pixel_row_difference8(samples(a), samples(b), count, &result)
                } else {
                    unsafe pixel_row_difference16(samples(a), samples(b), count, &result)
                }
            }
        }
        let (absolute, squared) = (result.absolute, result.squared)
        return RowDifference(
            absolute: [absolute.0, absolute.1, absolute.2, absolute.3],
            squared: [squared.0, squared.1, squared.2, squared.3], differing: Int(result.differing),
            maximum: Int(result.maximum), hasAlpha: result.has_alpha != 0)
    }

    /// Converts one channel of a row to floats.
    static func plane(_ row: [UInt8], _ channel: Int, bits: Int, into plane: inout [Float]) {
        precondition(channel < 4 && plane.count * (bits / 2) == row.count)
        let (channel, count) = (UInt32(channel), UInt64(plane.count))
        unsafe row.withUnsafeBytes { row in
            unsafe plane.withUnsafeMutableBufferPointer { plane in
                if bits == 8 {
                    unsafe pixel_plane8(samples(row), channel, count, plane.baseAddress)
                } else {
                    unsafe pixel_plane16(samples(row), channel, count, plane.baseAddress)
                }
            }
        }
    }

    /// Adds a row of weighted means to a ring of `slots` such rows.
    static func moments(
        _ a: [Float], _ b: [Float], weights: [Float], ring: inout [Float], slot: Int, slots: Int,
        scratch: inout [Float]
    ) {
        let count = a.count - weights.count + 1
        precondition(a.count == b.count && count > 0 && slot < slots && ring.count == slots * 4 * count)
        precondition(scratch.count >= 2 * a.count)
        unsafe ring.withUnsafeMutableBufferPointer { ring in
            unsafe scratch.withUnsafeMutableBufferPointer { scratch in
                unsafe pixel_ssim_moments(
                    a, b, weights, UInt32(weights.count), UInt64(count), ring.baseAddress! + slot * 4 * count,
                    scratch.baseAddress)
            }
        }
    }

    /// Returns the sum of the similarities of one row of windows; slot `first` holds the ring's topmost row.
    static func similarity(_ ring: [Float], first: Int, weights: [Float]) -> Double {
        precondition(!weights.isEmpty && ring.count % (4 * weights.count) == 0)
        let count = ring.count / (4 * weights.count)
        return unsafe pixel_ssim_sum(ring, UInt32(first), weights, UInt32(weights.count), UInt64(count))
    }

    /// Returns the amplified difference of two rows, as RGB of the same depth.
    static func image(
        _ a: [UInt8], _ b: [UInt8], bits: Int, gain: Int, into target: inout MutableRawSpan
    ) {
        let count = a.count / (bits / 2)
        precondition(a.count == b.count && target.byteCount == count * 3 * (bits / 8))
        let gain = UInt32(clamping: min(gain, 65_535))
        unsafe target.withUnsafeMutableBytes { target in
            unsafe a.withUnsafeBytes { a in
                unsafe b.withUnsafeBytes { b in
                    if bits == 8 {
                        unsafe pixel_difference_rgb8(
                            samples(a), samples(b), gain, UInt64(count),
                            target.baseAddress!.assumingMemoryBound(to: UInt8.self))
                    } else {
                        unsafe pixel_difference_rgb16(
                            samples(a), samples(b), gain, UInt64(count),
                            target.baseAddress!.assumingMemoryBound(to: UInt16.self))
                    }
                }
            }
        }
    }

    // Array storage is aligned for every sample type.
    private static func samples<T>(_ row: UnsafeRawBufferPointer) -> UnsafePointer<T> {
        unsafe row.baseAddress!.assumingMemoryBound(to: T.self)
    }
}
