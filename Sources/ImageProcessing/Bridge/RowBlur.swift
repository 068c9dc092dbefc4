import CPixelKernels
import ImageModel

/// A blur that takes the rows of an image from the top.
@safe final class RowBlur {
    private let blur: OpaquePointer

    /// - Throws: `.outOfMemory` if the intermediate rows cannot be allocated.
    init(_ size: PixelSize, _ format: PixelFormat, _ kernel: BlurKernel) throws(CoderError) {
        precondition(!size.isEmpty && format.numeric == .unorm)
        let rows = pixel_rows(
            width: UInt64(size.width), height: UInt64(size.height), channels: UInt32(format.channels.rawValue),
            bits: UInt32(format.bits), alpha: UInt32(format.alpha.rawValue))
        let made: OpaquePointer?
        switch kernel {
        case .weights(let weights):
            precondition((2...256).contains(weights.count))
            unsafe made = pixel_blur_weights(rows, weights, UInt32(weights.count - 1))
        case .boxes(let reach, let inner, let outer):
            precondition((1..<16_384).contains(reach))
            unsafe made = pixel_blur_boxes(rows, UInt32(reach), inner, outer)
        }
        guard let made = unsafe made else { throw CoderError(.outOfMemory, "no memory to blur \(size) pixels") }
        unsafe blur = made
    }

    deinit { unsafe pixel_blur_free(blur) }

    /// Takes the first `count` rows of `source`; returns the number of rows written to `target`.
    ///
    /// - Shape: both images have two rows of the format, and the same stride.
    func take(_ source: PixelBuffer, count: Int, _ target: PixelBuffer) -> Int {
        precondition((1...2).contains(count) && source.size == target.size && source.stride == target.stride)
        precondition(target.size.height == 2 && source.format == target.format)
        return unsafe source.withUnsafeMutableBytes { from in
            unsafe target.withUnsafeMutableBytes { to in
                Int(
                    unsafe pixel_blur_take(blur, from.baseAddress, UInt32(count), to.baseAddress, UInt64(source.stride))
                )
            }
        }
    }

    /// Writes the next of the remaining rows, after all rows of the image were taken.
    func finish(_ target: PixelBuffer) {
        unsafe target.withUnsafeMutableBytes { unsafe pixel_blur_finish(blur, $0.baseAddress) }
    }
}
