import CPixelKernels
import ImageModel

/// Blurs into another image of the same size and format.
///
/// - Throws: `.outOfMemory` if the intermediate rows cannot be allocated.
func blurPixels(_ source: PixelBuffer, into target: PixelBuffer, with kernel: BlurKernel) throws(CoderError) {
    precondition(source.size == target.size && source.format == target.format && source.format.numeric == .unorm)
    let (size, format) = (source.size, source.format)
    let (width, height) = (UInt64(size.width), UInt64(size.height))
    let (channels, bits) = (UInt32(format.channels.rawValue), UInt32(format.bits))
    let alpha = UInt32(format.alpha.rawValue)
    let result = unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            switch kernel {
            case .weights(let weights):
                precondition((2...256).contains(weights.count))
                return unsafe weights.withUnsafeBufferPointer { weights in
                    unsafe pixel_gauss_blur(
                        from.baseAddress, UInt64(source.stride), to.baseAddress, UInt64(target.stride), width, height,
                        channels, bits, alpha, weights.baseAddress, UInt32(weights.count - 1))
                }
            case .boxes(let reach, let inner, let outer):
                precondition((1..<16_384).contains(reach))
                return unsafe pixel_box_blur(
                    from.baseAddress, UInt64(source.stride), to.baseAddress, UInt64(target.stride), width, height,
                    channels, bits, alpha, UInt32(reach), inner, outer)
            }
        }
    }
    guard result == 0 else { throw CoderError(.outOfMemory, "no memory to blur \(size) pixels") }
}
