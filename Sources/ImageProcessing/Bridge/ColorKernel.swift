import CPixelKernels
import ImageModel

extension pixel_layout {
    init(_ format: PixelFormat) {
        self.init(
            channels: Int32(format.channels.rawValue), bits: Int32(format.bits),
            is_float: format.numeric == .float ? 1 : 0, alpha: Int32(format.alpha.rawValue))
    }
}

/// A color shape prepared for two pixel formats.
// Sendable because: the kernel only reads the tables that init made.
@safe final class ColorKernel: @unchecked Sendable {
    private let shaper: OpaquePointer

    /// Returns nil if memory is exhausted.
    init?(
        _ shape: ColorShape, matrix: Matrix3, from: PixelFormat, to: PixelFormat
    ) {
        var tone: [Float]?
        var ootf: [Float]?
        var luma: [Double] = [0, 0, 0]
        switch shape.range {
        case .pq(let mapping): tone = ColorShape.tone(mapping, peak: mapping.peak)
        case .hlg(let mapping, let weights):
            tone = ColorShape.tone(mapping, peak: 1000)
            ootf = ColorShape.ootf
            luma = weights
        case nil: break
        }
        let rows = matrix.rows.map { Float($0) }
        let shaper = unsafe withPointers(shape.curves, rows, tone, ootf) { curves, rows, tone, ootf in
            unsafe ColorShape.encode.withUnsafeBufferPointer { encode in
                unsafe ColorShape.encode8.withUnsafeBufferPointer { encode8 in
                    var request = unsafe pixel_shape(
                        curves: curves, matrix: rows, encode: encode.baseAddress, linear_below: 0.0031308,
                        linear_slope: 12.92, encode8: encode8.baseAddress, tone: tone,
                        luma: (Float(luma[0]), Float(luma[1]), Float(luma[2])), ootf: ootf,
                        // 1000 of 10 000 cd/m².
                        ootf_scale: 0.1)
                    return unsafe pixel_shaper_create(&request, pixel_layout(from), pixel_layout(to))
                }
            }
        }
        guard let shaper = unsafe shaper else { return nil }
        unsafe self.shaper = shaper
    }

    deinit { unsafe pixel_shaper_free(shaper) }

    func convert(_ source: RawSpan, _ target: inout MutableRawSpan, count: Int) {
        unsafe source.withUnsafeBytes { source in
            unsafe target.withUnsafeMutableBytes { target in
                unsafe pixel_shaper_row(shaper, source.baseAddress, target.baseAddress, UInt64(count))
            }
        }
    }

    /// Converts only the sample storage; colors stay the same.
    static func repack(
        _ source: RawSpan, _ from: PixelFormat, _ target: inout MutableRawSpan, _ to: PixelFormat, count: Int
    ) {
        let chunk = Int(PIXEL_CHUNK)
        unsafe withUnsafeTemporaryAllocation(of: Float.self, capacity: 5 * chunk) { scratch in
            let color = scratch.baseAddress!
            let alpha = unsafe color + 4 * chunk
            unsafe source.withUnsafeBytes { source in
                unsafe target.withUnsafeMutableBytes { target in
                    for x in stride(from: 0, to: count, by: chunk) {
                        let (first, part) = (UInt64(x), UInt64(min(chunk, count - x)))
                        unsafe pixel_unpack(source.baseAddress, pixel_layout(from), first, part, color, alpha)
                        unsafe pixel_pack(target.baseAddress, pixel_layout(to), first, part, color, alpha)
                    }
                }
            }
        }
    }
}

private func withPointers<R>(
    _ first: [Float], _ second: [Float], _ third: [Float]?, _ fourth: [Float]?,
    _ body: (UnsafePointer<Float>?, UnsafePointer<Float>?, UnsafePointer<Float>?, UnsafePointer<Float>?) -> R
) -> R {
    unsafe first.withUnsafeBufferPointer { first in
        unsafe second.withUnsafeBufferPointer { second in
            unsafe (third ?? []).withUnsafeBufferPointer { third in
                unsafe (fourth ?? []).withUnsafeBufferPointer { fourth in
                    unsafe body(
                        first.baseAddress, second.baseAddress, third.isEmpty ? nil : third.baseAddress,
                        fourth.isEmpty ? nil : fourth.baseAddress)
                }
            }
        }
    }
}
