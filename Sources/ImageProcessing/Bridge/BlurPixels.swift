import CPixelKernels
import ImageModel

/// Blurs with boxes into another picture of the same size and format.
///
/// - Parameters:
///   - box: odd, from 3 on.
///   - passes: boxes in each direction, 1 … 3.
/// - Throws: `.outOfMemory` for the rows between.
func blurPixels(_ source: PixelBuffer, into target: PixelBuffer, box: Int, passes: Int) throws(CoderError) {
    precondition(source.size == target.size && source.format == target.format)
    precondition(box >= 3 && box % 2 == 1 && box < 32_768 && source.format.numeric == .unorm)
    let format = source.format
    let result = unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            unsafe pixel_box_blur(
                from.baseAddress, UInt64(source.stride), to.baseAddress, UInt64(target.stride),
                UInt64(source.size.width), UInt64(source.size.height), UInt32(format.channels.rawValue),
                UInt32(format.bits), UInt32(format.alpha.rawValue), UInt32(box), UInt32(passes))
        }
    }
    guard result == 0 else { throw CoderError(.outOfMemory, "no memory to blur \(source.size) pixels") }
}
