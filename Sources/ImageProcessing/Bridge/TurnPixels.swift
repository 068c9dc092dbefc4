import CPixelKernels
import ImageModel

/// Copies an image pixel by pixel, applying an orientation.
func turnPixels(_ source: PixelBuffer, into target: PixelBuffer, _ orientation: Orientation) {
    precondition(
        target.size == orientation.applied(to: source.size)
            && target.format.bytesPerPixel == source.format.bytesPerPixel)
    unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            unsafe pixel_turn(
                from.baseAddress, UInt64(source.stride), to.baseAddress, UInt64(target.stride),
                UInt64(source.size.width), UInt64(source.size.height), UInt32(source.format.bytesPerPixel),
                UInt32(orientation.rawValue))
        }
    }
}
